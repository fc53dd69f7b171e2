#include "core/domain/karpenter/finding.h"
#include "core/base/listing.h"

#include "core/base/str.h"

struct findings findings_new(struct arena *a)
{
	return (struct findings){.arena = a,
				 .v = arena_array(a, struct violation, LIMIT_VIOLATIONS)};
}

void finding_add(struct findings *f, const char *field, const char *detail,
		 const char *seen, const char *expected)
{
	struct violation *v;

	if (f->n == LIMIT_VIOLATIONS)
		return;
	v = &f->v[f->n++];
	str_copy(v->field, sizeof(v->field), field);
	str_copy(v->detail, sizeof(v->detail), detail);
	str_copy(v->seen, sizeof(v->seen), seen ? seen : "");
	str_copy(v->expected, sizeof(v->expected), expected ? expected : "");
}

const char *findings_text(const struct findings *f)
{
	struct listing all = listing_new(f->arena, "; ", LISTING_LONG);

	for (size_t i = 0; i < f->n; i++)
		listing_add(&all, "%s", f->v[i].detail);
	return listing_text(&all);
}

bool findings_none(const struct findings *f, enum errc code, const char *headline,
		   struct err *e)
{
	if (f->n == 0)
		return true;
	err_set(e, code, "%s: %s", headline, findings_text(f));
	err_field(e, f->v[0].field, f->v[0].seen, f->v[0].expected);
	for (size_t i = 0; i < f->n && i < ERR_CAUSES_MAX; i++)
		err_because(e, "check", f->v[i].field, f->v[i].detail, NULL);
	e->violations = f->v;
	e->n_violations = f->n;
	return false;
}
