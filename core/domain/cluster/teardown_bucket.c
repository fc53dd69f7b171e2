/*
 * teardown_bucket.c - our objects in the shared bucket, and the bucket when it is empty.
 *
 * The bucket is shared by the clusters of an account and region. What lies under
 * clusters/OTHER/ is another cluster's and is never touched. What lies elsewhere is the
 * user's: it goes only with the bucket's name in delete_buckets and the plan's word for
 * what is in it. Objects go by the thousand; what is left is listed anew each time, so
 * that a removal that was stopped goes on where it was.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
 */
#include <string.h>

#include "core/domain/cluster/teardown.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

/* So many pages of a thousand are counted for a plan; beyond, it says "at least". */
enum { PAGES_MAX = 5 };

static const char CLUSTERS[] = "clusters/";

static bool is_given_up(const struct step_ctx *c)
{
	return texts_have(json_at(c->input, "delete_buckets"), name_bucket(c));
}

/* "demo" of "clusters/demo/lifecycle/on_create.sh"; NULL: no cluster's. */
static const char *owner_of(const struct step_ctx *c, const char *key)
{
	struct str rest;

	if (!str_starts(key, CLUSTERS))
		return NULL;
	rest = str_of(key + strlen(CLUSTERS));
	if (!strchr(rest.p, '/'))
		return NULL;
	return str_dup(c->arena, str_cut(&rest, '/'));
}

static bool may_go(const struct step_ctx *c, const char *key)
{
	const char *owner = owner_of(c, key);

	return owner ? streq(owner, c->target) : is_given_up(c);
}

static json_t *list_request(const struct step_ctx *c)
{
	json_t *in = json_packf(c->arena, "{s:s}", "Bucket", name_bucket(c));

	if (!is_given_up(c))
		json_put_str(in, "Prefix",
			     arena_printf(c->arena, "%s%s/", CLUSTERS, c->target));
	return in;
}

/* --- what is in it, before anything goes -------------------------------------------- */

static const char *page_key(const struct step_ctx *c, int n)
{
	return arena_printf(c->arena, "page/%d", n);
}

bool teardown_contents_observe(struct step_ctx *c, struct exchange *x)
{
	const char *token = NULL;

	if (!is_given_up(c) || !c->planning)
		return false;
	for (int n = 0; n < PAGES_MAX; n++) {
		json_t *in = list_request(c);
		const json_t *page;

		json_put_str(in, "ContinuationToken", token);
		if (read_aws(c, x, page_key(c, n), AWS_S3_ListObjectsV2, in))
			return true;
		page = saw(c, page_key(c, n));
		token = json_str_at(page, "NextContinuationToken");
		if (!token)
			return false;
	}
	return false;
}

/* The part of the bucket that a person would call one thing: "models/". */
static const char *part_of(const struct step_ctx *c, const char *key)
{
	const char *slash = strchr(key, '/');

	return slash ? arena_printf(c->arena, "%.*s", (int)(slash - key + 1), key)
		     : "(no folder)";
}

static void count_page(struct step_ctx *c, const json_t *page, json_t *parts,
		       json_t *others)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(page, "Contents"), i, v) {
		const char *key = json_str_or(v, "Key", "");
		const char *owner = owner_of(c, key);
		json_t *to = owner && !streq(owner, c->target) ? others : parts;
		const char *name = to == others ? owner : part_of(c, key);
		json_t *row = json_object_get(to, name);

		if (!row) {
			row = json_pack("{s:i, s:i}", "objects", 0, "bytes", 0);
			json_object_set_new(to, name, row);
		}
		json_put_int(row, "objects", json_int_or(row, "objects", 0) + 1);
		json_put_int(row, "bytes",
			     json_int_or(row, "bytes", 0) + json_int_or(v, "Size", 0));
	}
}

static json_t *texts_of(const json_t *parts)
{
	json_t *list = json_array();
	const char *name;
	json_t *row;

	json_object_foreach((json_t *)(uintptr_t)parts, name, row)
		json_push(list, json_sprintf("%s: %lld objects, %lld bytes", name,
					     (long long)json_int_or(row, "objects", 0),
					     (long long)json_int_or(row, "bytes", 0)));
	return list;
}

/* Only the shared bucket is ours to empty: a name that is not its is no permission. */
static bool names_are_known(struct step_ctx *c)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(c->input, "delete_buckets"), i, v)
		if (!streq(json_string_value(v), name_bucket(c))) {
			struct err *e = step_fail(
				c, ERR_INVALID_INPUT,
				"the bucket %s was not made for clusters: its objects "
				"are not ours to delete",
				json_string_value(v));
			err_field(e, "/delete_buckets", json_string_value(v),
				  name_bucket(c));
			err_fix(e, "Empty and delete it yourself, or leave it out.");
			return false;
		}
	return true;
}

void teardown_contents_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *parts = json_new_object(c->arena), *others = json_new_object(c->arena);
	const char *owner;
	json_t *row;

	(void)x;
	if (!names_are_known(c) || !c->planning)
		return;
	for (int n = 0; n < PAGES_MAX && json_object_get(c->seen, page_key(c, n)); n++)
		count_page(c, saw(c, page_key(c, n)), parts, others);
	json_object_foreach(others, owner, row)
		step_warn(
			c, "the bucket %s is shared: %lld objects of the cluster %s stay",
			name_bucket(c), (long long)json_int_or(row, "objects", 0), owner);
	if (json_object_size(parts) == 0)
		return;
	row = json_pack("{s:s, s:o}", "bucket", name_bucket(c), "objects",
			texts_of(parts));
	if (json_str_at(saw(c, page_key(c, PAGES_MAX - 1)), "NextContinuationToken"))
		json_put_bool(row, "at_least", true);
	step_stake(c, row);
}

/* --- they go --------------------------------------------------------------------------
 */

bool teardown_objects_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *in = list_request(c);

	json_put_str(in, "StartAfter", json_str_at(c->data, "objects_after"));
	return read_aws(c, x, "objects", AWS_S3_ListObjectsV2, in);
}

/* Those of the page that may go: {Key}; of the arena. */
static json_t *going(struct step_ctx *c)
{
	json_t *list = json_new_list(c->arena), *v;
	size_t i;

	json_array_foreach(json_at(saw(c, "objects"), "Contents"), i, v)
		if (may_go(c, json_str_or(v, "Key", "")))
			json_push(list,
				  json_pack("{s:s}", "Key", json_str_or(v, "Key", "")));
	return list;
}

static const char *last_key(const struct step_ctx *c)
{
	const json_t *all = json_at(saw(c, "objects"), "Contents");
	const size_t n = json_array_size(all);

	return n ? json_str_at(json_array_get(all, n - 1), "Key") : NULL;
}

void teardown_objects_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *keys = going(c);
	const size_t n = json_array_size(keys);

	if (n == 0 && json_bool_or(saw(c, "objects"), "IsTruncated", false)) {
		/* A page of other clusters' alone: passed over, once and for all. */
		step_save_str(c, "objects_after", last_key(c));
		step_goto(c, c->step->name);
		return;
	}
	if (n == 0)
		return;
	c->item = arena_printf(c->arena, "objects/%.16s", json_digest(c->arena, keys));
	exchange_aws(x, AWS_S3_DeleteObjects,
		     json_packf(c->arena, "{s:s, s:{s:O, s:b}}", "Bucket", name_bucket(c),
				"Delete", "Objects", keys, "Quiet", 1));
	x->what = arena_printf(c->arena, "Delete %zu objects from the bucket %s: %s%s", n,
			       name_bucket(c), json_str_or(keys, "0.Key", ""),
			       n > 1 ? ", …" : "");
}

void teardown_objects_absorb(struct step_ctx *c, const struct answer *a)
{
	const json_t *fault = json_at(a->out, "Errors.0");
	json_t *keys = going(c), *v;
	size_t i;

	if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND) {
		step_fail_answer(c, a, "the objects in %s could not be deleted",
				 name_bucket(c));
		return;
	}
	json_array_foreach(keys, i, v)
		if (!json_find(json_at(a->out, "Errors"), "Key",
			       json_str_or(v, "Key", "")))
			step_own(c, "s3:object",
				 arena_printf(c->arena, "%s/%s", name_bucket(c),
					      json_str_or(v, "Key", "")),
				 NULL, "gone");
	if (!fault) {
		step_goto(c, c->step->name);
	} else if (streq(json_str_at(fault, "Code"), "InternalError")) {
		step_retry(c, ERR_CLOUD_REFUSED, "S3 could not delete %s now",
			   json_str_or(fault, "Key", "?"));
	} else {
		struct err *e = step_fail(c, ERR_BLOCKED, "%s in %s could not be deleted",
					  json_str_or(fault, "Key", "?"), name_bucket(c));

		err_because(e, "s3:DeleteObjects", json_str_at(fault, "Code"),
			    json_str_at(fault, "Message"), NULL);
		err_fix(e, "Let our role delete it (bucket policy, object lock), then "
			   "retry: it goes on with what is left.");
	}
}

/* --- the bucket ------------------------------------------------------------------------
 */

bool teardown_bucket_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *in = json_packf(c->arena, "{s:s}", "Bucket", name_bucket(c));

	if (!name_bucket_is_ours(c))
		return false;
	if (read_aws(c, x, "bucket", AWS_S3_HeadBucket, in))
		return true;
	return saw_ok(c, "bucket") &&
	       (read_aws(c, x, "tags", AWS_S3_GetBucketTagging, in) ||
		read_aws(c, x, "objects", AWS_S3_ListObjectsV2,
			 json_packf(c->arena, "{s:s, s:i}", "Bucket", name_bucket(c),
				    "MaxKeys", 1)));
}

void teardown_bucket_plan(struct step_ctx *c, struct exchange *x)
{
	if (!name_bucket_is_ours(c))
		return;
	if (!saw_ok(c, "bucket")) {
		step_own(c, "s3:bucket", name_bucket(c), NULL, "gone");
		return;
	}
	if (!json_find(json_at(saw(c, "tags"), "TagSet"), "Key", "instantstart:shared"))
		return; /* of that name, but not made by us */
	if (json_at(saw(c, "objects"), "Contents.0")) {
		step_save_str(c, "kept_bucket", name_bucket(c));
		return;
	}
	c->item = name_bucket(c);
	exchange_aws(x, AWS_S3_DeleteBucket,
		     json_packf(c->arena, "{s:s}", "Bucket", name_bucket(c)));
	x->what = arena_printf(c->arena, "Delete the empty bucket %s", name_bucket(c));
}

void teardown_bucket_absorb(struct step_ctx *c, const struct answer *a)
{
	if (answer_is(a, "BucketNotEmpty")) {
		step_save_str(c, "kept_bucket", name_bucket(c)); /* others use it */
		step_advance(c);
		return;
	}
	teardown_absorb(c, a);
}
