/* Steps that mount a storage, over what others left behind. */
#include "core/domain/storage/look.h"
#include "tests/unit/domain_scene.h"

#define STORE .kind = "create_s3_storage", .step
#define VOLUMES(list)                                                                    \
	"{'kubernetes:list persistentvolumes':{'items':[" list "]},"                     \
	"'kubernetes:get persistentvolumeclaims':{'metadata':{'name':'s3','uid':'u-2',"  \
	"'labels':{" MANAGED "}}}}"
#define DATA_B "{'bucket':'data-b','namespace':'team1','name':'s3'}"

#define MINE "'name':'is-demo-team1-s3','labels':{" MANAGED "}"
#define MANAGED                                                                          \
	"'app.kubernetes.io/managed-by':'instantstart','instantstart/installation':'here'"
#define GOING ",'deletionTimestamp':'2026-01-02T03:04:00Z'"
#define FREED                                                                            \
	"{'metadata':{" MINE "},'spec':{'claimRef':{'uid':'u-1'},'csi':{"                \
	"'driver':'s3.csi.aws.com','volumeHandle':'is-demo-team1-s3-5620ab22',"          \
	"'volumeAttributes':{'bucketName':'data-b'}}},'status':{'phase':'Released'}}"

Test(domain_mount,
     what_is_being_deleted_is_waited_for_and_a_volume_without_its_claim_freed)
{
	static const struct scene rows[] = {
		{.id = "ST-11 volume goes",
		 STORE = "apply_volume",
		 .input = DATA_B,
		 .answers = VOLUMES("{'metadata':{" MINE GOING "}}"),
		 .says = {"wait: the volume is-demo-team1-s3 to be deleted", "!call"}},
		{.id = "ST-11 claim goes",
		 STORE = "apply_claim",
		 .input = DATA_B,
		 .answers = "{'kubernetes:get persistentvolumeclaims':{'metadata':{" MINE
			 GOING "}}}",
		 .says = {"wait: the claim s3 to be deleted", "!call"}},
		{.id = "ST-11 namespace goes",
		 STORE = "apply_namespace",
		 .input = DATA_B,
		 .answers =
			 "{'kubernetes:get namespaces':{'metadata':{'name':'team1'" GOING
			 "}}}",
		 .says = {"wait: the namespace team1 to be deleted", "!call"}},
		{.id = "ST-11 the claim was deleted by hand",
		 STORE = "apply_volume",
		 .input = DATA_B,
		 .answers = VOLUMES(FREED),
		 .says = {"call kubernetes:patch persistentvolumes: Release the volume is-demo-team1-s3 of a deleted claim",
			  "'claimRef':{", "'uid':null"}},
		{.id = "ST-11 freed, it is looked at again",
		 STORE = "apply_volume",
		 .input = DATA_B,
		 .answers = VOLUMES(FREED),
		 .answered = "{'kind':'PersistentVolume'}",
		 .says = {"goto apply_volume"}},
		{.id = "ST-11 freed late: the claim waits",
		 STORE = "wait_bound",
		 .input = DATA_B,
		 .answers = "{'kubernetes:get persistentvolumeclaims':{'status':{'phase':"
			    "'Pending'}},'kubernetes:get persistentvolumes':{'status':{"
			    "'phase':'Released'}}}",
		 .says = {"goto apply_volume"}},
	};

	SCENES_HOLD(rows);
}

/* --- the driver's right
 * ------------------------------------------------------------------
 */

#define GRANT                                                                            \
	"{'Version':'2012-10-17','Statement':[{'Effect':'Allow','Action':"               \
	"'s3:ListBucket','Resource':'arn:aws:s3:::data-b'},{'Effect':'Allow','Action':"  \
	"['s3:AbortMultipartUpload','s3:DeleteObject','s3:GetObject','s3:PutObject'],"   \
	"'Resource':'arn:aws:s3:::data-b/*'}]}"
#define ROLE "'iam:GetRole':{'Role':{'RoleName':'r','Tags':[" TAGS_OURS "]}}"

static json_t *granted(struct arena *a)
{
	json_t *answers = scene_tree(a, "{" ROLE "}");
	json_t *policy = scene_tree(a, GRANT);

	json_object_set_new(answers, "iam:GetRolePolicy",
			    json_pack("{s:s}", "PolicyDocument", json_text(a, policy)));
	return answers;
}

struct grant {
	struct arena a;
	struct walk w;
	struct exchange x;
	const json_t *left;
};

/* The step as the runner plays it, and a cancel right after it. */
static void cancelled_after_grant(struct grant *g, const json_t *answers,
				  const char *data)
{
	static struct config cfg;
	static const struct where where = {.account = "111122223333",
					   .installation = "here",
					   .region = "us-west-2",
					   .partition = "aws"};
	const struct kind *k = kind_find(kinds, "create_s3_storage");
	struct step_ctx *c = &g->w.ctx;

	*g = (struct grant){.x = {.via = VIA_NONE}};
	arena_init(&g->a, 0);
	g->w.a = &g->a;
	g->w.kind = k;
	g->w.step = kind_step(k, "grant_bucket");
	*c = (struct step_ctx){.arena = &g->a,
			       .cfg = &cfg,
			       .where = &where,
			       .op_id = "op_1",
			       .root_id = "op_1",
			       .target = "demo",
			       .input = scene_tree(&g->a, DATA_B),
			       .data = scene_tree(&g->a, data),
			       .seen = json_new_object(&g->a),
			       .step = g->w.step,
			       .now_ms = scene_now_ms,
			       .resources = json_new_list(&g->a),
			       .catalog = json_new_list(&g->a),
			       .events = json_new_list(&g->a)};
	scene_observe(c, answers);
	c->step->plan(c, &g->x);
	cr_assert_eq(c->verdict.kind, VERDICT_NONE, "%s", c->verdict.error.detail);
	if (g->x.via != VIA_NONE) {
		left_note(&g->w, &g->x);
		g->w.out.effect = EFFECT_DONE;
		left_keep(&g->w);
	}
	left_tell(&g->w);
	g->left = json_at(c->verdict.result, "still_wanted");
}

Test(domain_mount, the_driver_s_right_is_owned_listed_and_undone)
{
	static const struct {
		const char *id, *data;
		bool there, sends, listed;
	} rows[] = {
		{"given by us", "{'stands':false}", false, true, true},
		{"left by a create that was cancelled", "{'stands':false}", true, false,
		 true},
		{"of a storage that stands", "{'stands':true}", true, false, false},
		/* Neither undo nor the stop call takes a mounted storage away. */
		{"taken away from a storage that stands", "{'stands':true}", false, true,
		 false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct grant g;
		struct arena a;
		struct spawn undo = {0};

		arena_init(&a, 0);
		cancelled_after_grant(
			&g, rows[i].there ? granted(&a) : scene_tree(&a, "{" ROLE "}"),
			rows[i].data);
		cr_expect_eq(g.x.via == VIA_AWS, rows[i].sends, "%s", rows[i].id);
		cr_expect_str_eq(json_str_or(g.w.ctx.resources, "0.type", ""),
				 "iam:role-policy", "%s", rows[i].id);
		cr_expect_str_eq(json_str_or(g.w.ctx.resources, "0.state", ""), "made");
		cr_expect_eq(json_array_size(g.left), rows[i].listed, "%s", rows[i].id);
		cr_expect_str_eq(json_str_or(g.left, "0.stop.tool", ""),
				 rows[i].listed ? "delete_storage" : "", "%s",
				 rows[i].id);
		cr_expect_str_eq(json_str_or(g.left, "0.stop.arguments.namespace", ""),
				 rows[i].listed ? "team1" : "");
		cr_expect_eq(g.w.kind->undo(&g.w.ctx, &undo), rows[i].listed, "%s",
			     rows[i].id);
		/* What its stop call looks for is there. */
		cr_expect_eq(json_array_size(g.w.ctx.catalog),
			     strstr(rows[i].data, "false") ? 1 : 0, "%s", rows[i].id);
		arena_free(&g.a);
		arena_free(&a);
	}
}

Test(domain_mount, what_an_earlier_create_left_is_no_storage_that_stands)
{
	static const struct scene rows[] = {
		{"nothing there", STORE = "check_objects", .input = DATA_B,
		 .data = "{'eks':{'endpoint':'https://k'}}",
		 .answers = "{'kubernetes:list persistentvolumes':{'items':[]}}",
		 .says = {"'stands':false"}},
		{"a claim that waits", STORE = "check_objects", .input = DATA_B,
		 .data = "{'eks':{'endpoint':'https://k'}}", .answers = VOLUMES(""),
		 .says = {"'stands':false"}},
		{"a claim that is bound", STORE = "check_objects", .input = DATA_B,
		 .data = "{'eks':{'endpoint':'https://k'}}",
		 .answers = "{'kubernetes:list persistentvolumes':{'items':[]},"
			    "'kubernetes:get persistentvolumeclaims':{'metadata':{'name':"
			    "'s3','labels':{" MANAGED "}},'status':{'phase':'Bound'}}}",
		 .says = {"'stands':true"}},
	};

	SCENES_HOLD(rows);
}

/* --- how it stands later ---------------------------------------------------------------
 */

#define PRESENT(more) "{'there':{'status':{'phase':'Bound'}" more "}}"
#define CLAIM         PRESENT(",'spec':{'volumeName':'v'}")
#define ABSENT        "{}"
#define SILENT        NULL

Test(domain_mount, a_storage_is_what_is_left_of_it)
{
	static const struct {
		const char *was, *seen[STORAGE_SOURCES], *is, *why;
	} rows[] = {
		{"mounted", {PRESENT(""), CLAIM, PRESENT("")}, "mounted", NULL},
		{"mounted", {ABSENT, CLAIM, PRESENT("")}, "broken", "bucket b no longer"},
		{"mounted",
		 {PRESENT(""), ABSENT, PRESENT("")},
		 "broken",
		 "claim ns/s no longer"},
		{"mounted", {PRESENT(""), CLAIM, ABSENT}, "broken", "volume v no longer"},
		{"mounted",
		 {PRESENT(""), CLAIM, "{'there':{'status':{'phase':'Released'}}}"},
		 "broken",
		 "volume v is Released"},
		{"mounted",
		 {PRESENT(""), "{'there':{'status':{'phase':'Lost'}}}", PRESENT("")},
		 "broken",
		 "claim ns/s is Lost"},
		{"mounted",
		 {PRESENT(""), PRESENT(",'spec':{'volumeName':'w'}"), PRESENT("")},
		 "broken",
		 "another volume, w"},
		{"mounted",
		 {PRESENT(""),
		  PRESENT(",'spec':{'volumeName':'v'},'metadata':{"
			  "'deletionTimestamp':'2026-01-02T03:04:05Z'}"),
		  PRESENT("")},
		 "broken",
		 "claim ns/s is being deleted"},
		/* Silence breaks nothing, and hides nothing that is known. */
		{"mounted", {SILENT, CLAIM, PRESENT("")}, "unknown", NULL},
		{"mounted", {PRESENT(""), SILENT, SILENT}, "unknown", NULL},
		{"mounted", {SILENT, CLAIM, ABSENT}, "broken", "volume v no longer"},
		{"partial", {ABSENT, ABSENT, ABSENT}, "partial", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct storage_found found[STORAGE_SOURCES] = {{0}};
		struct arena a;
		json_t *row;

		arena_init(&a, 0);
		row = json_packf(&a, "{s:s, s:s, s:s, s:s, s:s}", "name", "s",
				 "namespace", "ns", "bucket", "b", "volume", "v",
				 "status", rows[i].was);
		for (int s = 0; s < STORAGE_SOURCES; s++) {
			found[s].told = rows[i].seen[s] != NULL;
			if (found[s].told)
				found[s].object =
					json_at(scene_tree(&a, rows[i].seen[s]), "there");
		}
		storage_judge(&a, row, found);
		cr_expect_str_eq(json_str_or(row, "status", ""), rows[i].is, "%zu", i);
		cr_expect(!rows[i].why == !json_str_at(row, "why"), "%zu", i);
		cr_expect(strstr(json_str_or(row, "why", ""),
				 rows[i].why ? rows[i].why : ""),
			  "%zu: %s", i, json_str_or(row, "why", ""));
		arena_free(&a);
	}
}
