#include "core/domain/hyperpod/bucket_keys.h"

#include <string.h>

#include "core/domain/step/names.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

static const char CLUSTERS[] = "clusters/";

bool bucket_is_given_up(const struct step_ctx *c)
{
	return texts_have(json_at(c->input, "delete_buckets"), name_bucket(c));
}

const char *bucket_key_owner(const struct step_ctx *c, const char *key)
{
	struct str rest;

	if (!str_starts(key, CLUSTERS))
		return NULL;
	rest = str_of(key + strlen(CLUSTERS));
	if (!strchr(rest.p, '/'))
		return NULL;
	return str_dup(c->arena, str_cut(&rest, '/'));
}

bool bucket_may_go(const struct step_ctx *c, const char *key)
{
	const char *owner = bucket_key_owner(c, key);

	return owner ? streq(owner, c->target) : bucket_is_given_up(c);
}

json_t *bucket_list_request(const struct step_ctx *c)
{
	json_t *in = json_packf(c->arena, "{s:s}", "Bucket", name_bucket(c));

	if (!bucket_is_given_up(c))
		json_put_str(in, "Prefix",
			     arena_printf(c->arena, "%s%s/", CLUSTERS, c->target));
	return in;
}

static void add(struct step_ctx *c, const json_t *rows, bool all, json_t *list)
{
	size_t i;
	json_t *v;

	json_array_foreach(rows, i, v) {
		const char *key = json_str_or(v, "Key", "");

		if (all || bucket_may_go(c, key))
			json_push(list, json_pack("{s:s, s:s}", "Key", key, "VersionId",
						  json_str_or(v, "VersionId", "null")));
	}
}

json_t *bucket_versions(struct step_ctx *c, const json_t *page, bool all)
{
	json_t *list = json_new_list(c->arena);

	add(c, json_at(page, "Versions"), all, list);
	add(c, json_at(page, "DeleteMarkers"), all, list);
	return list;
}

void bucket_delete_versions(struct step_ctx *c, struct exchange *x, const char *bucket,
			    json_t *versions)
{
	const size_t n = json_array_size(versions);

	c->item =
		arena_printf(c->arena, "objects/%.16s", json_digest(c->arena, versions));
	exchange_aws(x, AWS_S3_DeleteObjects,
		     json_packf(c->arena, "{s:s, s:{s:O, s:b}}", "Bucket", bucket,
				"Delete", "Objects", versions, "Quiet", 1));
	x->what = arena_printf(c->arena, "Delete %zu objects from the bucket %s: %s%s", n,
			       bucket, json_str_or(versions, "0.Key", ""),
			       n > 1 ? ", …" : "");
}
