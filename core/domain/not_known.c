#include "core/domain/not_known.h"

#include "core/json/tree.h"

const struct field not_known_out[] = {
	OUT("what", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "What is not known."),
	OUT("call", FIELD_STR, .doc = "Call that was not answered."),
	OUT("why", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Why."), FIELD_END};

void not_known(json_t *row, const char *what, const char *call, const char *why)
{
	json_t *list = json_object_get(row, "not_known");

	if (!list) {
		list = json_array();
		json_object_set_new(row, "not_known", list);
	}
	json_push(list, json_pack("{s:s, s:s*, s:s}", "what", what, "call",
				  call && *call ? call : NULL, "why", why));
}

void not_known_err(json_t *row, const char *what, const struct err *e)
{
	const bool caused = e->n_causes > 0;
	const char *message = caused ? e->cause[0].message : "";

	not_known(row, what, caused ? e->cause[0].source : "",
		  caused && e->cause[0].code[0] ? e->cause[0].code
		  : *message                    ? message
						: e->detail);
}
