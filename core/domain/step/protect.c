#include "core/domain/step/protect.h"

#include <string.h>

#include "core/base/listing.h"
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
	struct listing all = listing_new(c->arena, "; ", LISTING_LONG);

	for (const struct protection *const *p = rows(c); *p; p++) {
		const char *name = (*p)->holds(c);
		const char *why = (*p)->unread(c);

		if (held && name)
			listing_add(&all, "%s %s", (*p)->what, name);
		if (!held && why)
			listing_add(&all, "%s (%s)", (*p)->what, why);
	}
	return all.n ? listing_text(&all) : NULL;
}

static void say(struct step_ctx *c, const char *held)
{
	struct err *e = step_fail(c, ERR_BLOCKED,
				  "Nothing was deleted: deletion protection by %s", held);
	struct listing fixes = listing_new(c->arena, " ", LISTING_LONG);

	for (const struct protection *const *p = rows(c); *p; p++) {
		const char *name = (*p)->holds(c);

		if (!name)
			continue;
		err_because(e, (*p)->what, "protected", name, NULL);
		listing_add(&fixes, "%s", fix_of(c, *p, name));
	}
	err_fix(e, "%s Then retry.", listing_text(&fixes));
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
	/* A plan says what it could not see; a deletion must know. */
	if (c->planning || only_optional(c)) {
		step_not_known(c, "protections",
			       "whether anything has deletion protection: %s", unread);
		return;
	}
	e = step_fail(c, ERR_CLOUD_DENIED,
		      "Nothing was deleted: deletion protection could not be checked: "
		      "%s",
		      unread);
	err_fix(e, "Allow the InstantStart role to read it, then retry.");
}
