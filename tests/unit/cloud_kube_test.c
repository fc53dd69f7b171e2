/* Tokens, apply, refusals, lists, watches and the ledger of the simulated API server. */
#include "tests/unit/kube_lab.h"

/* --- who may ------------------------------------------------------------------- */

Test(cloud_kube, tokens_and_access_entries)
{
	struct kube_request r = on(KUBE_LIST, "v1", "secrets", "default", NULL);
	struct klab k;

	set_up(&k);
	cr_expect(call(&k, &r)->ok, "the creator: %s", k.res.message);
	json_put_str(cloud_get(k.lab.cloud, "eks.cluster", "demo"), "_creator",
		     "someone");
	cr_expect_eq(call(&k, &r)->status, 401, "no access entry");
	cloud_put(k.lab.cloud, "eks.access_entry",
		  "demo|arn:aws:iam::111122223333:user/operator",
		  json_pack("{s:{s:{s:{s:s}}}}", "_policies",
			    "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy",
			    "accessScope", "type", "cluster"));
	cr_expect_eq(call(&k, &r)->status, 403, "View sees no Secrets");
	r.plural = "pods";
	cr_expect(call(&k, &r)->ok);
	r = on(KUBE_DELETE, "v1", "pods", "default", "p");
	cr_expect_eq(call(&k, &r)->errc, ERR_CLOUD_DENIED);
	tear_down(&k);
	set_up(&k);
	k.secret = "not the key of that id";
	cr_expect_eq(call(&k, &r)->errc, ERR_CREDENTIALS);
	tear_down(&k);
}

/* As the API server of a cluster asks EKS by its webhooks. */
static const json_t *review(struct klab *k, const char *cluster, const char *kind,
			    json_t *spec)
{
	struct http_request req = {.method = "POST", .timeout_ms = 1000};
	struct http_answer ans;
	struct err e;

	req.url = arena_printf(&k->lab.arena, "http://cloud/_cloud/review/%s?timeout=30s",
			       cluster);
	req.body = json_text(&k->lab.arena, json_packf(&k->lab.arena, "{s:s,s:o}", "kind",
						       kind, "spec", spec));
	req.body_len = strlen(req.body);
	cr_assert(k->aws.net->send(k->aws.net, &k->lab.arena, &req, &ans, &e), "%s",
		  e.detail);
	cr_assert_eq(ans.status, 200, "%s", ans.body);
	return json_at(json_parse(&k->lab.arena, str_of(ans.body), &e), "status");
}

static bool allowed(struct klab *k, const char *arn, const char *verb, const char *plural)
{
	return json_bool_or(
		review(k, "demo", "SubjectAccessReview",
		       json_pack("{s:{s:s,s:s},s:{s:[s]}}", "resourceAttributes", "verb",
				 verb, "resource", plural, "extra", "arn", arn)),
		"allowed", false);
}

Test(cloud_kube, a_real_api_server_may_ask)
{
	static const char arn[] = "arn:aws:iam::111122223333:user/operator";
	const json_t *s;
	struct secret token;
	struct klab k;
	struct err e;

	set_up(&k);
	cr_assert(kube_token(&k.kube, &k.target, &k.lab.arena, &token, &e));
#define ASK(cluster)                                                                     \
	review(&k, cluster, "TokenReview",                                               \
	       json_pack("{s:s}", "token", secret_reveal(token)))
	cr_expect_str_eq(json_str_or(ASK("demo"), "user.username", ""), arn);
	cr_expect(allowed(&k, arn, "delete", "secrets"), "the creator");
	cr_expect_not(json_bool_or(ASK("other"), "authenticated", true));
	json_put_str(cloud_get(k.lab.cloud, "eks.cluster", "demo"), "_creator",
		     "someone");
	cr_expect_not(json_bool_or(ASK("demo"), "authenticated", true), "no entry");
	cr_expect_not(allowed(&k, arn, "get", "pods"));
	cloud_put(k.lab.cloud, "eks.access_entry",
		  arena_printf(&k.lab.arena, "demo|%s", arn),
		  json_pack("{s:s,s:[s],s:{s:{s:{s:s}}}}", "username",
			    "of-{{SessionName}}", "kubernetesGroups", "readers",
			    "_policies",
			    "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy",
			    "accessScope", "type", "cluster"));
	s = ASK("demo");
	cr_expect_str_eq(json_str_or(s, "user.username", ""), "of-operator");
	cr_expect_str_eq(json_text(&k.lab.arena, json_at(s, "user.groups")),
			 "[\"system:authenticated\",\"readers\"]");
	cr_expect_str_eq(json_str_or(s, "user.extra.arn.0", ""), arn);
	cr_expect(allowed(&k, arn, "get", "pods"));
	cr_expect_not(allowed(&k, arn, "get", "secrets"), "View sees no Secrets");
	cr_expect_not(allowed(&k, arn, "delete", "pods"));
#undef ASK
	tear_down(&k);
}

/* --- apply ------------------------------------------------------------------------ */

Test(cloud_kube, apply_owns_fields)
{
	struct kube_request r = on(KUBE_MERGE_PATCH, "v1", "configmaps", "default", "c");
	struct klab k;
	const char *rv = NULL;

	set_up(&k);
	cr_expect_eq(
		apply(&k, "v1", "configmaps", "default", "c", CM("{'a':'1','b':'2'}"))
			->status,
		201);
	rv = json_str_or(k.res.out, "metadata.resourceVersion", "");
	pass(&k, 3000);
	cr_expect_eq(
		apply(&k, "v1", "configmaps", "default", "c", CM("{'a':'1','b':'2'}"))
			->status,
		200);
	cr_expect_str_eq(json_str_or(k.res.out, "metadata.resourceVersion", ""), rv,
			 "an equal apply writes nothing");
	/* What we leave out and own goes; what another owns stays. */
	r.body = js(&k, "{'data':{'x':'9'}}");
	cr_expect(call(&k, &r)->ok, "%s", k.res.message);
	cr_expect(apply(&k, "v1", "configmaps", "default", "c", CM("{'a':'1'}"))->ok);
	cr_expect_str_eq(json_text(&k.lab.arena, json_at(k.res.out, "data")),
			 "{\"a\":\"1\",\"x\":\"9\"}");
	tear_down(&k);
}

Test(cloud_kube, apply_conflicts_with_another_manager)
{
	struct klab k;
	struct kube_request r = on(KUBE_MERGE_PATCH, "v1", "configmaps", "default", "c");

	set_up(&k);
	apply(&k, "v1", "configmaps", "default", "c", CM("{'a':'1'}"));
	/* An update of ours through the other door is another manager's entry. */
	r.body = js(&k, "{'data':{'a':'2'}}");
	cr_expect(call(&k, &r)->ok);
	apply(&k, "v1", "configmaps", "default", "c", CM("{'a':'1'}"));
	cr_expect_eq(k.res.status, 409);
	cr_expect_eq(k.res.errc, ERR_FOREIGN_OBJECT);
	cr_expect_str_eq(json_str_or(k.res.out, "details.causes.0.field", ""), ".data.a");
	cr_expect_str_eq(json_str_or(k.res.out, "details.causes.0.reason", ""),
			 "FieldManagerConflict");
	r = on(KUBE_APPLY, "v1", "configmaps", "default", "c");
	r.body = js(&k, CM("{'a':'1'}"));
	r.force = true;
	cr_expect(call(&k, &r)->ok, "%s", k.res.message);
	cr_expect_str_eq(json_str_or(k.res.out, "data.a", ""), "1");
	tear_down(&k);
}

/* --- refusals ------------------------------------------------------------------------
 */

Test(cloud_kube, refuses_what_a_server_refuses)
{
	static const struct {
		const char *api, *plural, *ns, *name, *body;
		int status;
		const char *says;
	} rows[] = {
		{"v1", "persistentvolumes", NULL, "v", PV("v", "h", ""), 201, ""},
		{"v1", "persistentvolumes", NULL, "v", PV("v", "other", ""), 422,
		 "is immutable after creation"},
		{"v1", "persistentvolumes", NULL, "w", PV("w", "h", ",'bogus':1"), 500,
		 ".spec.bogus: field not declared in schema"},
		{"v1", "persistentvolumes", NULL, "Bad_Name", PV("Bad_Name", "h", ""),
		 422, "RFC 1123"},
		{"v1", "configmaps", "nowhere", "c",
		 "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c'}}", 404,
		 "namespaces \"nowhere\" not found"},
		{"v1", "configmaps", "default", "c",
		 "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'d'}}", 400,
		 "does not match the name on the URL"},
		{"v1", "configmaps", "default", "c",
		 "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c'},'data':{'a':1}}",
		 500, ".data.a: expected string"},
		{"v1", "configmaps", "default", "c",
		 "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','labels':{'k':"
		 "'not valid!'}}}",
		 422, "metadata.labels"},
		{"batch/v1", "jobs", "default", "j",
		 "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j'},'spec':{"
		 "'template':{'spec':{'containers':[{'name':'a','image':'i'}]}}}}",
		 422, "restartPolicy"},
		{"apps/v1", "deployments", "default", "d",
		 "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d'},'spec':{"
		 "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':"
		 "'c'}},'spec':{'containers':[{'name':'a','image':'i'}]}}}}",
		 422, "does not match template"},
		{"ray.io/v1", "rayjobs", "default", "r",
		 "{'apiVersion':'ray.io/v1','kind':'RayJob','metadata':{'name':'r'}}",
		 404, "404 page not found"},
	};
	struct klab k;

	set_up(&k);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		apply(&k, rows[i].api, rows[i].plural, rows[i].ns, rows[i].name,
		      rows[i].body);
		cr_expect_eq(k.res.status, rows[i].status, "row %zu: %d %s", i,
			     k.res.status, k.res.message);
		cr_expect(strstr(k.res.message, rows[i].says), "row %zu: %s", i,
			  k.res.message);
	}
	tear_down(&k);
}

Test(cloud_kube, custom_resources_follow_their_schema)
{
	struct klab k;

	set_up(&k);
	apply(&k, "apiextensions.k8s.io/v1", "customresourcedefinitions", NULL,
	      "things.x.io",
	      "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"
	      "'metadata':{'name':'things.x.io'},'spec':{'group':'x.io','scope':'Namespaced',"
	      "'names':{'plural':'things','kind':'Thing'},'versions':[{'name':'v1','served':true,"
	      "'storage':true,'subresources':{'status':{}},'schema':{'openAPIV3Schema':{'type':"
	      "'object','properties':{'spec':{'type':'object','required':['size'],'properties':{"
	      "'size':{'type':'integer','minimum':1},'mode':{'type':'string','enum':['a','b'],"
	      "'default':'a'}}},'status':{'type':'object','x-kubernetes-preserve-unknown-fields':"
	      "true}}}}}]}}");
	cr_expect_eq(k.res.status, 201, "%s", k.res.message);
	apply(&k, "x.io/v1", "things", "default", "t",
	      "{'apiVersion':'x.io/v1','kind':'Thing','metadata':{'name':'t'},'spec':{'size':2}}");
	cr_expect_eq(k.res.status, 201, "%s", k.res.message);
	cr_expect_str_eq(json_str_or(k.res.out, "spec.mode", ""), "a");
	static const struct {
		const char *spec, *says;
	} rows[] = {
		{"{}", "spec.size: Required value"},
		{"{'size':0}", "greater than or equal to 1"},
		{"{'size':'x'}", ".spec.size: expected numeric"},
		{"{'size':1,'mode':'z'}", "Unsupported value"},
		{"{'size':1,'colour':'red'}",
		 "spec.colour: field not declared in schema"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		apply(&k, "x.io/v1", "things", "default", "u",
		      arena_printf(
			      &k.lab.arena,
			      "{'apiVersion':'x.io/v1','kind':'Thing','metadata':{'name':"
			      "'u'},'spec':%s}",
			      rows[i].spec));
		cr_expect_eq(k.res.errc, ERR_CLOUD_REFUSED, "row %zu", i);
		cr_expect(strstr(k.res.message, rows[i].says), "row %zu: %s", i,
			  k.res.message);
	}
	tear_down(&k);
}

/* --- lists and watches
 * ------------------------------------------------------------------ */

static bool note(void *ctx, enum kube_change change, const json_t *object)
{
	char *text = ctx;
	const size_t used = strlen(text);

	snprintf(text + used, 256 - used, "%c%s ", "AMD"[change],
		 json_str_or(object, "metadata.name", "?"));
	return true;
}

static enum kube_watch_end watch_once(struct klab *k, struct kube_watch *w,
				      const char *labels)
{
	struct kube_request r = on(KUBE_WATCH, "v1", "configmaps", "default", NULL);
	struct http_request req;
	struct http_answer ans;
	struct secret token;
	struct err e;

	r.resource_version = w->resource_version;
	r.label_selector = labels;
	cr_assert(kube_token(&k->kube, &k->target, &k->lab.arena, &token, &e));
	cr_assert(kube_build(&k->target, &r, token, &k->lab.arena, &req, &e));
	req.on_data = kube_watch_feed;
	req.on_data_ctx = w;
	kube_watch_start(w, w->resource_version);
	cr_assert(k->aws.net->send(k->aws.net, &k->lab.arena, &req, &ans, &e), "%s",
		  e.detail);
	return kube_watch_finish(w, ans.status);
}

static void put_cm(struct klab *k, const char *name, const char *tier)
{
	apply(k, "v1", "configmaps", "default", name,
	      arena_printf(
		      &k->lab.arena,
		      "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s',"
		      "'labels':{'tier':'%s'}}}",
		      name, tier));
	cr_assert(k->res.ok, "%s", k->res.message);
}

Test(cloud_kube, lists_in_chunks_and_watches_from_there)
{
	char text[256] = "";
	struct kube_request r = on(KUBE_LIST, "v1", "configmaps", "default", NULL);
	struct kube_watch w;
	struct klab k;

	set_up(&k);
	for (int i = 0; i < 5; i++)
		put_cm(&k, arena_printf(&k.lab.arena, "c%d", i), "x");
	r.limit = 2;
	r.label_selector = "tier in (x,y),!gone";
	cr_expect_eq(json_len_at(call(&k, &r)->out, "items"), 2);
	r.continue_ = json_str_at(k.res.out, "metadata.continue");
	cr_assert_not_null(r.continue_);
	pass(&k, 6 * 60 * 1000);
	cr_expect_eq(call(&k, &r)->status, 410, "a continuation lives for five minutes");
	kube_list_all(&k.kube, &k.target, &r, &k.lab.arena, &k.res);
	cr_expect_eq(json_len_at(k.res.out, "items"), 5);

	kube_watch_init(&w, &k.lab.arena, note, text);
	kube_watch_start(&w, json_str_at(k.res.out, "metadata.resourceVersion"));
	put_cm(&k, "c9", "x");
	put_cm(&k, "c0", "y"); /* leaves the selection */
	r = on(KUBE_DELETE, "v1", "configmaps", "default", "c1");
	cr_expect(call(&k, &r)->ok);
	pass(&k, 1000);
	cr_expect_eq(watch_once(&k, &w, "tier=x"), KUBE_WATCH_RESUME);
	cr_expect_str_eq(text, "Ac9 Dc0 Mc1 Dc1 ");
	text[0] = '\0';
	cr_expect_eq(watch_once(&k, &w, "tier=x"), KUBE_WATCH_RESUME);
	cr_expect_str_eq(text, "", "nothing twice");
	cloud_configure(k.lab.cloud, js(&k, "{'kube_history':2}"));
	for (int i = 0; i < 4; i++)
		put_cm(&k, arena_printf(&k.lab.arena, "n%d", i), "x");
	cr_expect_eq(watch_once(&k, &w, "tier=x"), KUBE_WATCH_RELIST, "%s", w.reason);
	kube_watch_free(&w);
	tear_down(&k);
}

/* --- ledger and faults
 * ------------------------------------------------------------------------ */

Test(cloud_kube, mutations_are_in_the_ledger_and_faults_hit_them)
{
	const json_t *last = NULL;
	struct klab k;

	set_up(&k);
	cloud_add_fault(
		k.lab.cloud,
		js(&k, "{'kube':'apply configmaps','fault':'lose_answer','times':1}"));
	apply(&k, "v1", "configmaps", "default", "c", CM("{'a':'1'}"));
	cr_expect(k.res.ambiguous);
	cr_expect_not_null(stored(&k, "v1", "configmaps", "default", "c"),
			   "it did arrive");
	last = json_array_get(cloud_ledger(k.lab.cloud),
			      json_array_size(cloud_ledger(k.lab.cloud)) - 1);
	cr_expect_str_eq(json_str_or(last, "op", ""), "apply configmaps");
	cr_expect(json_bool_or(last, "answer_lost", false));
	cr_expect_str_eq(json_str_or(last, "effects.0.id", ""), "demo/default/c");
	apply(&k, "v1", "configmaps", "default", "c", CM("{'a':'1'}"));
	last = json_array_get(cloud_ledger(k.lab.cloud),
			      json_array_size(cloud_ledger(k.lab.cloud)) - 1);
	cr_expect_eq(json_len_at(last, "effects"), 0, "a repeat changes nothing");
	cloud_add_fault(k.lab.cloud,
			js(&k, "{'kube':'apply','fault':'throttle','times':1}"));
	cr_expect_eq(apply(&k, "v1", "configmaps", "default", "c", CM("{}"))->errc,
		     ERR_CLOUD_THROTTLED);
	tear_down(&k);
}
