#include "core/domain/step/protect.h"

#include <string.h>

#include "core/json/tree.h"

static const struct protection *const *rows(const struct step_ctx *c)
{
	return c->step->arg;
}

bool protect_observe(struct step_ctx *c, struct exchange *x)
{
	for (const struct protection *const *p = rows(c); *p; p++)
		if ((*p)->read(c, x))
			return true;
	return false;
}

static const char *fix_of(struct step_ctx *c, const struct protection *p,
			  const char *name)
{
	const char *at = strstr(p->fix, "%s");

	return at ? arena_printf(c->arena, "%.*s%s%s", (int)(at - p->fix), p->fix, name,
				 at + 2)
		  : p->fix;
}

/* A sentence of each that holds or could not be read; NULL: none. */
static const char *found(struct step_ctx *c, bool held)
{
	struct buf b;

	buf_init(&b, c->arena, 4096);
	for (const struct protection *const *p = rows(c); *p; p++) {
		const char *name = (*p)->holds(c);
		const char *why = (*p)->unread(c);

		if (held && name)
			buf_printf(&b, "%s%s %s", b.len ? "; " : "", (*p)->what, name);
		if (!held && why)
			buf_printf(&b, "%s%s (%s)", b.len ? "; " : "", (*p)->what, why);
	}
	return b.len ? buf_cstr(&b) : NULL;
}

static void say(struct step_ctx *c, const char *held)
{
	struct err *e = step_fail(c, ERR_BLOCKED,
				  "Nothing was deleted: deletion protection by %s", held);
	struct buf fix;

	buf_init(&fix, c->arena, 4096);
	for (const struct protection *const *p = rows(c); *p; p++) {
		const char *name = (*p)->holds(c);

		if (!name)
			continue;
		err_because(e, (*p)->what, "protected", name, NULL);
		buf_printf(&fix, "%s ", fix_of(c, *p, name));
	}
	err_fix(e, "%sThen retry.", buf_cstr(&fix));
}

static bool only_optional(struct step_ctx *c)
{
	for (const struct protection *const *p = rows(c); *p; p++)
		if (!(*p)->optional && (*p)->unread(c))
			return false;
	return true;
}

void protect_plan(struct step_ctx *c, struct exchange *x)
{
	const char *held = found(c, true), *unread = found(c, false);
	struct err *e;

	(void)x;
	if (held) {
		say(c, held);
		return;
	}
	if (!unread || c->verdict.kind != VERDICT_NONE)
		return;
	if (only_optional(c)) {
		step_warn(c, "not known: %s", unread);
		return;
	}
	e = step_fail(c, ERR_CLOUD_DENIED,
		      "Nothing was deleted: deletion protection could not be checked: "
		      "%s",
		      unread);
	err_fix(e, "Allow the InstantStart role to read it, then retry.");
}
