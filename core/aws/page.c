#include <string.h>

#include "core/aws/op_table.h"
#include "core/base/str.h"
#include "core/json/tree.h"

/* S3's versions are paged by two tokens at once: "KeyMarker,VersionIdMarker". */
static const char *text_of(const json_t *tree, struct str name)
{
	return json_string_value(json_object_getn(tree, name.p, name.n));
}

json_t *aws_next_page(const struct aws_op *op, const json_t *in, const json_t *out,
		      struct arena *a)
{
	struct str ins = str_of(op->in_token), outs = str_of(op->out_token);
	bool same = true;
	json_t *next;

	if (!op->in_token || (op->more && !json_is_true(json_object_get(out, op->more))))
		return NULL;
	next = in ? json_own(a, json_deep_copy(in)) : json_new_object(a);
	for (bool first = true; ins.p; first = false) {
		const struct str to = str_cut(&ins, ',');
		const char *token = text_of(out, str_cut(&outs, ','));

		/* CloudWatch Logs says "the end" by giving the same token again. */
		if (first && (!token || !*token))
			return NULL;
		same &= streq(token, text_of(in, to));
		if (token && *token)
			json_object_setn_new(next, to.p, to.n, json_string(token));
		else
			json_object_deln(next, to.p, to.n);
	}
	return same ? NULL : next;
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
