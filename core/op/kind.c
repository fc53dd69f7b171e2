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
		return "READ";
	case EFFECT_TOKEN:
		return "TOKEN";
	case EFFECT_NAMED:
		return "NAMED";
	case EFFECT_TAGGED:
		return "TAGGED";
	case EFFECT_CONVERGENT:
		return "CONVERGENT";
	case EFFECT_ONCE:
		return "ONCE";
	}
	return "READ";
}
