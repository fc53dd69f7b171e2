/*
 * The shared bucket, with versions, locks and uploads: what is counted, what goes, and
 * what is never touched.
 */
#include "tests/unit/cloud_operate.h"

#define SHARED "sagemaker-instantstart-111122223333-us-west-2"

static struct lab l;
static struct operate o;

static void put(const char *key, const char *body)
{
	lab_call(&l, "s3", "PutObject", "{s:s,s:s,s:s}", "Bucket", SHARED, "Key", key,
		 "Body", body);
}

static void make_bucket(bool locks)
{
	lab_call(&l, "s3", "CreateBucket", "{s:s,s:{s:s},s:b}", "Bucket", SHARED,
		 "CreateBucketConfiguration", "LocationConstraint", "us-west-2",
		 "ObjectLockEnabledForBucket", locks);
	lab_call(&l, "s3", "PutBucketTagging", "{s:s,s:{s:[{s:s,s:s}]}}", "Bucket",
		 SHARED, "Tagging", "TagSet", "Key", "instantstart:shared", "Value",
		 "true");
}

static void version_it(void)
{
	lab_call(&l, "s3", "PutBucketVersioning", "{s:s,s:{s:s}}", "Bucket", SHARED,
		 "VersioningConfiguration", "Status", "Enabled");
}

static void begin(void)
{
	lab_start(&l);
	operate_init(&o, &l);
	arena_init(&o.arena, 1 << 28); /* of all its claims together */
}

static void end(void)
{
	operate_free(&o);
	lab_stop(&l);
}

static json_t *request(bool give_up)
{
	json_t *in = json_new_object(&l.arena);

	if (give_up)
		json_put(in, "delete_buckets", json_pack("[s]", SHARED));
	return in;
}

static bool plan(bool give_up, json_t **ret, struct err *e)
{
	return runner_plan(&o.r, &l.arena, kind_find(kinds, "delete_cluster"), "demo",
			   request(give_up), ret, e);
}

/* Versions and markers under a prefix. */
static size_t left(const char *prefix)
{
	json_t *out = lab_call(&l, "s3", "ListObjectVersions", "{s:s,s:s}", "Bucket",
			       SHARED, "Prefix", prefix);

	return json_len_at(out, "Versions") + json_len_at(out, "DeleteMarkers");
}

static bool is_there(void)
{
	return cloud_get(l.cloud, "s3.bucket", SHARED) != NULL;
}

/* Written twice, then deleted: two versions and a marker of each. */
static void fill(void)
{
	static const char *const keys[] = {"clusters/demo/lifecycle/on_create.sh",
					   "clusters/other/lifecycle/on_create.sh",
					   "models/a", "top"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		put(keys[i], "one");
		put(keys[i], "two");
		lab_call(&l, "s3", "DeleteObject", "{s:s,s:s}", "Bucket", SHARED, "Key",
			 keys[i]);
	}
	lab_call(&l, "s3", "CreateMultipartUpload", "{s:s,s:s}", "Bucket", SHARED, "Key",
		 "models/big");
	lab_call(&l, "s3", "CreateMultipartUpload", "{s:s,s:s}", "Bucket", SHARED, "Key",
		 "clusters/other/big");
}

Test(cloud_bucket, all_versions_are_counted_and_go_and_others_stay)
{
	json_t *p = NULL;
	struct err e = {0};
	const char *stakes;

	begin();
	make_bucket(false);
	version_it();
	fill();
	cr_assert(plan(true, &p, &e), "%s", e.detail);
	stakes = json_text(&l.arena, json_at(p, "at_stake"));
	cr_expect(strstr(stakes,
			 "models/: 0 objects, 6 bytes, 2 older versions, 1 delete "
			 "markers, 1 unfinished uploads"),
		  "%s", stakes);
	cr_expect(strstr(stakes, "(no folder): 0 objects, 6 bytes, 2 older versions"),
		  "%s", stakes);
	cr_expect_not(strstr(stakes, "other"), "%s", stakes);
	operate(&o, "delete_cluster", request(true), 0);
	cr_assert_null(o.failed, "%s", o.failed);
	cr_expect_eq(left("clusters/demo/"), 0);
	cr_expect_eq(left("models/"), 0);
	cr_expect_eq(left("top"), 0);
	cr_expect_eq(left("clusters/other/"), 3);
	cr_expect_eq(json_len_at(lab_call(&l, "s3", "ListMultipartUploads", "{s:s}",
					  "Bucket", SHARED),
				 "Uploads"),
		     1);
	cr_expect(strstr(json_text(&l.arena, o.result), "holds objects"));
	end();
}

/* Without the word for it only what is ours goes, with all its versions. */
Test(cloud_bucket, what_is_not_given_up_stays)
{
	begin();
	make_bucket(false);
	version_it();
	fill();
	operate(&o, "delete_cluster", request(false), 0);
	cr_assert_null(o.failed, "%s", o.failed);
	cr_expect_eq(left("clusters/demo/"), 0);
	cr_expect_eq(left("models/"), 3);
	cr_expect_eq(left("clusters/other/"), 3);
	cr_expect(is_there());
	end();
}

Test(cloud_bucket, more_than_a_page_goes_and_so_does_the_bucket)
{
	enum { KEYS = 1300 };

	begin();
	make_bucket(false);
	version_it();
	for (int i = 0; i < KEYS; i++) {
		const char *key = arena_printf(&l.arena, "data/%04d", i % (KEYS / 2));

		put(key, arena_printf(&l.arena, "%d", i));
	}
	/* Stopped after the first thousand, and asked for again. */
	operate(&o, "delete_cluster", request(true), 2);
	cr_assert(o.stopped);
	cr_expect_eq(left("data/"), KEYS - 1000);
	operate(&o, "delete_cluster", request(true), 0);
	cr_assert_null(o.failed, "%s", o.failed);
	cr_expect_not(is_there());
	end();
}

static void lock_it(const char *mode)
{
	lab_call(&l, "s3", "PutObjectLockConfiguration", "{s:s,s:{s:s,s:{s:{s:s,s:i}}}}",
		 "Bucket", SHARED, "ObjectLockConfiguration", "ObjectLockEnabled",
		 "Enabled", "Rule", "DefaultRetention", "Mode", mode, "Days", 30);
}

Test(cloud_bucket, what_a_lock_keeps_is_refused_before_anything_goes)
{
	static const char *const modes[] = {"GOVERNANCE", "COMPLIANCE"};

	for (size_t i = 0; i < 2; i++) {
		json_t *p = NULL;
		struct err e = {0};

		begin();
		make_bucket(true);
		put("clusters/demo/lifecycle/on_create.sh", "ours, from before the rule");
		lock_it(modes[i]);
		put("models/a", "kept");
		cr_assert_not(plan(true, &p, &e));
		cr_expect_eq(e.code, ERR_BLOCKED);
		cr_expect(strstr(e.detail, "models/a") && strstr(e.detail, modes[i]),
			  "%s", e.detail);
		cr_expect(strstr(e.fix, "delete_buckets"), "%s", e.fix);
		operate(&o, "delete_cluster", request(true), 0);
		cr_expect(o.failed && o.mutations == 0, "%d calls", o.mutations);
		/* Left out, the cluster goes, and so does what is ours and not kept. */
		operate(&o, "delete_cluster", request(false), 0);
		cr_assert_null(o.failed, "%s", o.failed);
		cr_expect_eq(left("clusters/demo/"), 0);
		cr_expect_eq(left("models/"), 1);
		end();
	}
}

Test(cloud_bucket, scripts_of_ours_that_a_lock_keeps_do_not_keep_the_cluster)
{
	json_t *p = NULL;
	struct err e = {0};

	begin();
	make_bucket(true);
	lock_it("COMPLIANCE");
	put("clusters/demo/lifecycle/on_create.sh", "kept");
	cr_assert(plan(false, &p, &e), "%s", e.detail);
	cr_expect(strstr(json_text(&l.arena, json_at(p, "warnings")),
			 "Object Lock keeps InstantStart's scripts"));
	operate(&o, "delete_cluster", request(false), 0);
	cr_assert_null(o.failed, "%s", o.failed);
	cr_expect_eq(left("clusters/demo/"), 1);
	end();
}
