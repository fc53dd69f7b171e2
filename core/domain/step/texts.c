#include "core/domain/step/texts.h"

#include "core/base/str.h"
#include "core/json/tree.h"

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

const char *texts_named(struct arena *a, const json_t *list, const char *member,
			size_t room)
{
	struct listing l = listing_new(a, ", ", room);
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v) {
		const char *text = member ? json_str_at(v, member) : json_string_value(v);

		listing_add(&l, "%s", text ? text : "?");
	}
	return listing_text(&l);
}
