#include "core/domain/step/object.h"

#include "core/domain/step/names.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

bool object_covers(const json_t *there, const json_t *wanted)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_object(wanted)) {
		json_object_foreach((json_t *)(uintptr_t)wanted, key, value)
			if (!object_covers(json_object_get(there, key), value))
				return false;
		return json_is_object(there);
	}
	if (json_is_array(wanted)) {
		if (json_array_size(there) != json_array_size(wanted))
			return false;
		json_array_foreach(wanted, i, value)
			if (!object_covers(json_array_get(there, i), value))
				return false;
		return true;
	}
	return json_equal(there, wanted);
}

bool object_is_current(const struct step_ctx *c, const json_t *there,
		       const json_t *wanted)
{
	json_t *o = json_own(c->arena, json_deep_copy(wanted));

	if (!json_object_get(json_at(there, "metadata.labels"), LABEL_INSTALLATION))
		json_object_del(json_at(o, "metadata.labels"), LABEL_INSTALLATION);
	return object_covers(there, o);
}

bool object_is_ours(const struct step_ctx *c, const json_t *object, const char *type)
{
	return owner_of_object(c, object, name_label(c), type) == OWNER_US;
}

void object_tell_owner(struct step_ctx *c, struct err *e, const json_t *object,
		       const char *type)
{
	const struct mark m = mark_of_labels(json_at(object, "metadata.labels"));

	owner_tell_mark(c, e, owner_of_object(c, object, name_label(c), type), &m);
}
