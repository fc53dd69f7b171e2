#include "core/domain/step/texts.h"

#include "core/base/str.h"

bool texts_have(const json_t *list, const char *text)
{
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
		if (text && streq(json_string_value(v), text))
			return true;
	return false;
}

void texts_add(json_t *to, const json_t *from)
{
	size_t i;
	json_t *v;

	json_array_foreach(from, i, v)
		if (!texts_have(to, json_string_value(v)))
			json_array_append(to, v);
}
