#include "tests/cloud/listing.h"

#include "core/base/str.h"
#include "core/json/tree.h"

bool listing_page(struct cloud_call *c, const struct listing *l, const json_t *list,
		  json_t **ret_out)
{
	const char *token = json_str_at(c->in, l->token);
	int64_t limit = l->limit ? json_int_or(c->in, l->limit, 0) : 0;
	size_t n = limit > 0 ? (size_t)limit : l->fallback;
	json_t *items = json_new_list(c->arena);
	int64_t from = 0;
	size_t i;

	if (token && (!str_starts(token, "page-") ||
		      !str_to_i64(str_of(token + 5), &from) || from < 0))
		return cloud_fault(c, l->code, "Invalid pagination token %s", token);
	for (i = (size_t)from; i < json_array_size(list) && i < (size_t)from + n; i++)
		json_array_append(items, json_array_get(list, i));
	*ret_out = json_packf(c->arena, "{s:O}", l->member, items);
	if (i < json_array_size(list))
		json_put_str(*ret_out, l->token, arena_printf(c->arena, "page-%zu", i));
	return true;
}

static const char *table(struct cloud_call *c)
{
	return arena_printf(c->arena, "%s.token", c->service);
}

enum replay replay_find(struct cloud_call *c, const char *token, const char **ret_id)
{
	const json_t *seen = token ? cloud_get(c->cloud, table(c), token) : NULL;

	*ret_id = NULL;
	if (!seen)
		return REPLAY_NEW;
	if (!streq(json_str_at(seen, "op"), c->op) ||
	    !streq(json_str_at(seen, "digest"), json_digest(c->arena, c->in)))
		return REPLAY_OTHER;
	*ret_id = json_str_at(seen, "id");
	return REPLAY_SAME;
}

void replay_keep(struct cloud_call *c, const char *token, const char *id)
{
	if (token)
		cloud_put(c->cloud, table(c), token,
			  json_pack("{s:s,s:s,s:s}", "op", c->op, "digest",
				    json_digest(c->arena, c->in), "id", id));
}
