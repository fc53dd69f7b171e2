/*
 * teardown_contents.c - what is in the shared bucket, before anything goes.
 *
 * Counted for the plan: objects, older versions, delete markers and uploads that were
 * begun, by the part that a person would call one thing. Object lock is read first: what
 * it keeps nobody can delete before its date, so a bucket that is given up is refused
 * while it holds such a version, and our own scripts that it keeps stay behind.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lock.html
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/base/listing.h"
#include "core/domain/cluster/teardown.h"
#include "core/domain/hyperpod/bucket_keys.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* So many pages of a thousand are counted for a plan; beyond, it says "at least". So
 * many versions are asked for their locks. */
enum { PAGES_MAX = 5, LOCKS_MAX = 10 };

static const char *page_key(const struct step_ctx *c, int n)
{
	return arena_printf(c->arena, "page/%d", n);
}

static const char *lock_key(const struct step_ctx *c, size_t n)
{
	return arena_printf(c->arena, "lock/%zu", n);
}

static bool is_counted(const struct step_ctx *c)
{
	return bucket_is_given_up(c) && c->planning;
}

static bool has_lock(const struct step_ctx *c)
{
	return streq(
		json_str_at(saw(c, "lock"), "ObjectLockConfiguration.ObjectLockEnabled"),
		"Enabled");
}

/* --- reads ---------------------------------------------------------------------------
 */

static bool read_pages(struct step_ctx *c, struct exchange *x)
{
	const int max = is_counted(c) ? PAGES_MAX : 1;
	json_t *in = bucket_list_request(c);

	for (int n = 0; n < max && in; n++) {
		const char *key = page_key(c, n);

		if (read_aws(c, x, key, AWS_S3_ListObjectVersions, in))
			return true;
		in = saw_ok(c, key) ? aws_next_page(aws_op(AWS_S3_ListObjectVersions), in,
						    saw(c, key), c->arena)
				    : NULL;
	}
	return false;
}

/* The versions whose locks are looked at; markers have none. */
static const json_t *looked_at(struct step_ctx *c, size_t n)
{
	const json_t *rows = json_at(saw(c, page_key(c, 0)), "Versions");
	size_t i;
	json_t *v;

	json_array_foreach(rows, i, v)
		if (bucket_may_go(c, json_str_or(v, "Key", "")) && n-- == 0)
			return v;
	return NULL;
}

static bool read_locks(struct step_ctx *c, struct exchange *x)
{
	const json_t *v;

	for (size_t n = 0; n < LOCKS_MAX && (v = looked_at(c, n)); n++)
		if (read_aws(c, x, lock_key(c, n), AWS_S3_HeadObject,
			     json_packf(c->arena, "{s:s, s:s, s:s}", "Bucket",
					name_bucket(c), "Key", json_str_or(v, "Key", ""),
					"VersionId",
					json_str_or(v, "VersionId", "null"))))
			return true;
	return false;
}

bool teardown_contents_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *in = json_packf(c->arena, "{s:s}", "Bucket", name_bucket(c));

	if (read_aws(c, x, "lock", AWS_S3_GetObjectLockConfiguration, in))
		return true;
	if (streq(saw_code(c, "lock"), "NoSuchBucket"))
		return false;
	return ((is_counted(c) || has_lock(c)) && read_pages(c, x)) ||
	       (has_lock(c) && read_locks(c, x)) ||
	       (is_counted(c) &&
		read_all(c, x, "uploads", AWS_S3_ListMultipartUploads, in));
}

/* --- the lock ------------------------------------------------------------------------
 */

static bool is_held(const struct step_ctx *c, const json_t *head)
{
	int64_t until_ms = 0;

	return streq(json_str_at(head, "ObjectLockLegalHoldStatus"), "ON") ||
	       (time_parse_rfc3339(json_str_or(head, "ObjectLockRetainUntilDate", ""),
				   &until_ms) &&
		until_ms > c->now_ms);
}

static const char *held_text(struct step_ctx *c, const char *key, const json_t *head)
{
	if (streq(json_str_at(head, "ObjectLockLegalHoldStatus"), "ON"))
		return arena_printf(c->arena, "%s (legal hold)", key);
	return arena_printf(c->arena, "%s (%s until %s)", key,
			    json_str_or(head, "ObjectLockMode", "locked"),
			    json_str_or(head, "ObjectLockRetainUntilDate", "?"));
}

/* "a.sh (COMPLIANCE until 2027-01-01T00:00:00Z)"; "" when none of them is kept. */
static const char *held(struct step_ctx *c)
{
	struct listing l = listing_new(c->arena, ", ", LISTING_LONG);
	const json_t *v;

	for (size_t n = 0; n < LOCKS_MAX && (v = looked_at(c, n)); n++)
		if (is_held(c, saw(c, lock_key(c, n))))
			listing_add(&l, "%s",
				    held_text(c, json_str_or(v, "Key", "?"),
					      saw(c, lock_key(c, n))));
	return listing_text(&l);
}

/* Why it is not known what the lock keeps; NULL: it is. */
static const char *lock_unread(struct step_ctx *c)
{
	size_t n = 0;

	if (saw_refused(c, "lock"))
		return saw_why(c, "lock");
	for (; has_lock(c) && n < LOCKS_MAX && looked_at(c, n); n++)
		if (!saw_ok(c, lock_key(c, n)))
			return saw_why(c, lock_key(c, n));
	return n == LOCKS_MAX && looked_at(c, n)
		       ? "the first versions have none, and the others were not checked"
		       : NULL;
}

/* False: a verdict was set. */
static bool lock_lets_go(struct step_ctx *c)
{
	const char *kept = has_lock(c) ? held(c) : "", *why = lock_unread(c);
	struct err *e;

	if (*kept && bucket_is_given_up(c)) {
		e = step_fail(c, ERR_BLOCKED,
			      "nothing was deleted: object lock keeps versions in the "
			      "bucket %s: %s",
			      name_bucket(c), kept);
		err_field(e, "/delete_buckets", name_bucket(c),
			  "a bucket without locked objects");
		err_fix(e,
			"To keep the bucket, omit it from delete_buckets. To delete it, wait until the retention date or have the legal hold removed, then retry.");
		return false;
	}
	if (saw_refused(c, "lock") && bucket_is_given_up(c)) {
		e = step_fail_saw(
			c, "lock",
			"nothing was deleted: could not check whether Object Lock protects the bucket %s: %s",
			name_bucket(c), why);
		if (!e->fix[0])
			err_fix(e, "Allow the InstantStart role to read it "
				   "(s3:GetBucketObjectLockConfiguration), then retry.");
		return false;
	}
	if (*kept)
		step_warn(
			c,
			"Object Lock keeps InstantStart's scripts in the bucket %s: %s. They "
			"stay there",
			name_bucket(c), kept);
	else if (why)
		step_not_known(
			c, "object_lock",
			"whether Object Lock protects InstantStart's objects in the bucket %s (%s)",
			name_bucket(c), why);
	return true;
}

/* --- counting -------------------------------------------------------------------------
 */

/* The part of the bucket that a person would call one thing: "models/". */
static const char *part_of(const struct step_ctx *c, const char *key)
{
	const char *slash = strchr(key, '/');

	return slash ? arena_printf(c->arena, "%.*s", (int)(slash - key + 1), key)
		     : "(no folder)";
}

struct count {
	json_t *parts, *others; /* {name: {objects, bytes, …}} */
};

static void count_rows(struct step_ctx *c, struct count *k, const json_t *rows,
		       const char *as)
{
	size_t i;
	json_t *v;

	json_array_foreach(rows, i, v) {
		const char *key = json_str_or(v, "Key", "");
		const char *owner = bucket_key_owner(c, key);
		json_t *to = owner && !streq(owner, c->target) ? k->others : k->parts;
		const char *name = to == k->others ? owner : part_of(c, key);
		const char *what =
			as && !json_bool_or(v, "IsLatest", true) ? "older" : as;
		json_t *row = json_object_get(to, name);

		if (!row) {
			row = json_object();
			json_object_set_new(to, name, row);
		}
		what = what ? what : "markers";
		json_put_int(row, what, json_int_or(row, what, 0) + 1);
		json_put_int(row, "bytes",
			     json_int_or(row, "bytes", 0) + json_int_or(v, "Size", 0));
	}
}

static json_t *texts_of(struct step_ctx *c, const json_t *parts)
{
	static const char *const more[][2] = {{"older", "older versions"},
					      {"markers", "delete markers"},
					      {"uploads", "unfinished uploads"}};
	json_t *list = json_array();
	const char *name;
	json_t *row;

	json_object_foreach((json_t *)(uintptr_t)parts, name, row) {
		const char *text =
			arena_printf(c->arena, "%s: %lld objects, %lld bytes", name,
				     (long long)json_int_or(row, "objects", 0),
				     (long long)json_int_or(row, "bytes", 0));

		for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
			if (json_int_or(row, more[i][0], 0) > 0)
				text = arena_printf(
					c->arena, "%s, %lld %s", text,
					(long long)json_int_or(row, more[i][0], 0),
					more[i][1]);
		json_push(list, json_string(text));
	}
	return list;
}

/* False: a page was refused; a verdict was set. */
static bool count_all(struct step_ctx *c, struct count *k)
{
	for (int n = 0; n < PAGES_MAX && json_object_get(c->seen, page_key(c, n)); n++) {
		const char *key = page_key(c, n);

		if (!saw_ok(c, key) && !saw_missing(c, key)) {
			step_fail_saw(c, key,
				      "what is in the bucket %s could not be counted: %s",
				      name_bucket(c), saw_why(c, key));
			return false;
		}
		count_rows(c, k, json_at(saw(c, key), "Versions"), "objects");
		count_rows(c, k, json_at(saw(c, key), "DeleteMarkers"), NULL);
	}
	if (saw_refused(c, "uploads")) {
		step_fail_saw(c, "uploads",
			      "the uploads into the bucket %s could not be counted: %s",
			      name_bucket(c), saw_why(c, "uploads"));
		return false;
	}
	count_rows(c, k, json_at(saw(c, "uploads"), "Uploads"), "uploads");
	return true;
}

/* Only the shared bucket is ours to empty: a name that is not its is no permission. */
static bool names_are_known(struct step_ctx *c)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(c->input, "delete_buckets"), i, v)
		if (!streq(json_string_value(v), name_bucket(c))) {
			struct err *e =
				step_fail(c, ERR_INVALID_INPUT,
					  "The bucket %s was not created for clusters. "
					  "InstantStart does not delete its objects",
					  json_string_value(v));
			err_field(e, "/delete_buckets", json_string_value(v),
				  name_bucket(c));
			err_fix(e, "Empty and delete it yourself, or omit it.");
			return false;
		}
	return true;
}

void teardown_contents_plan(struct step_ctx *c, struct exchange *x)
{
	struct count k = {json_new_object(c->arena), json_new_object(c->arena)};
	const char *owner;
	json_t *row;

	(void)x;
	if (!names_are_known(c) || !lock_lets_go(c) || !is_counted(c) ||
	    !count_all(c, &k))
		return;
	json_object_foreach(k.others, owner, row)
		step_warn(
			c, "the bucket %s is shared: %lld objects of the cluster %s stay",
			name_bucket(c), (long long)json_int_or(row, "objects", 0), owner);
	if (json_object_size(k.parts) == 0)
		return;
	row = json_pack("{s:s, s:o}", "bucket", name_bucket(c), "objects",
			texts_of(c, k.parts));
	if (json_bool_or(saw(c, page_key(c, PAGES_MAX - 1)), "IsTruncated", false))
		json_put_bool(row, "at_least", true);
	step_stake(c, row);
}
