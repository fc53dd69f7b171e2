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
