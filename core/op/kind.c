#include "core/op/kind.h"

const struct step *kind_step(const struct kind *k, const char *name)
{
	for (const struct step *s = k->steps; s->name; s++)
		if (streq(s->name, name))
			return s;
	return NULL;
}

const struct step *kind_step_after(const struct kind *k, const struct step *s)
{
	(void)k;
	return s->name && s[1].name ? s + 1 : NULL;
}

const struct kind *kind_find(const struct kind *const *kinds, const char *name)
{
	for (; kinds && *kinds; kinds++)
		if (streq((*kinds)->name, name))
			return *kinds;
	return NULL;
}

int64_t step_deadline_s(const struct step *s)
{
	enum { PATIENCE_S = 15 * 60 };
	const int64_t own = s->deadline_s ? s->deadline_s : PATIENCE_S;
	const int64_t cloud =
		s->wait && s->wait->cloud_s ? s->wait->cloud_s + PATIENCE_S : 0;

	return own > cloud ? own : cloud;
}

const char *verdict_name(enum verdict_kind kind)
{
	static const char *const names[] = {
		[VERDICT_NONE] = "none",           [VERDICT_ADVANCE] = "advance",
		[VERDICT_WAIT] = "wait",           [VERDICT_RETRY] = "retry",
		[VERDICT_SPAWN] = "spawn",         [VERDICT_HOLD] = "hold",
		[VERDICT_FAIL] = "fail",           [VERDICT_DONE] = "done",
		[VERDICT_CANCELLED] = "cancelled",
	};

	return names[kind];
}

const char *effect_class_name(enum effect_class c)
{
	switch (c) {
	case EFFECT_READ:
		return "read";
	case EFFECT_TOKEN:
		return "token";
	case EFFECT_NAMED:
		return "named";
	case EFFECT_TAGGED:
		return "tagged";
	case EFFECT_CONVERGENT:
		return "convergent";
	case EFFECT_ONCE:
		return "once";
	}
	return "read";
}

bool step_is_quick(const struct step *s)
{
	return s->spawn || (!s->observe && !s->plan);
}
