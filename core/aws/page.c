#include <string.h>

#include "core/aws/op_table.h"
#include "core/base/str.h"
#include "core/json/tree.h"

json_t *aws_next_page(const struct aws_op *op, const json_t *in, const json_t *out,
		      struct arena *a)
{
	const char *token, *previous;
	json_t *next;

	if (!op->in_token || (op->more && !json_is_true(json_object_get(out, op->more))))
		return NULL;
	token = json_string_value(json_object_get(out, op->out_token));
	previous = json_string_value(json_object_get(in, op->in_token));
	/* CloudWatch Logs says "the end" by giving the same token again. */
	if (!token || !*token || streq(token, previous))
		return NULL;
	next = in ? json_own(a, json_deep_copy(in)) : json_new_object(a);
	json_object_set_new(next, op->in_token, json_string(token));
	return next;
}

void aws_join_page(const struct aws_op *op, json_t *all, const json_t *out)
{
	struct str rest = str_of(op->items);

	while (op->items && rest.p) {
		struct str name = str_cut(&rest, ',');
		json_t *more = json_object_getn(out, name.p, name.n);
		json_t *list = json_object_getn(all, name.p, name.n);

		if (!json_is_array(more))
			continue;
		if (json_is_array(list))
			json_array_extend(list, more);
		else
			json_object_setn_new(all, name.p, name.n, json_copy(more));
	}
}
