/* The simulated API server, seen through the product's own client. */
#include "tests/unit/cloud_lab.h"

#include "core/kube/kube.h"
#include "core/kube/watch.h"

#define KEY    "AKIAIOSFODNN7EXAMPLE"
#define SECRET "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

struct klab {
	struct lab lab;
	struct aws aws;
	struct kube kube;
	struct kube_target target;
	struct kube_result res;
	const char *secret;
};

static const char *lookup(void *ctx, const char *name)
{
	const struct klab *k = ctx;

	if (streq(name, "AWS_ACCESS_KEY_ID"))
		return KEY;
	return streq(name, "AWS_SECRET_ACCESS_KEY") ? k->secret : NULL;
}

static void set_up(struct klab *k)
{
	memset(k, 0, sizeof(*k));
	k->secret = SECRET;
	lab_start(&k->lab);
	cloud_put(k->lab.cloud, "eks.cluster", "demo",
		  json_pack("{s:s,s:s}", "name", "demo", "_creator",
			    "arn:aws:iam::111122223333:user/operator"));
	cloud_kube_create(k->lab.cloud, "demo", "abc");
	k->aws = (struct aws){.net = cloud_transport(k->lab.cloud),
			      .clock = &k->lab.clock.clock,
			      .region = "us-west-2",
			      .lookup = lookup,
			      .lookup_ctx = k};
	k->aws.credentials = aws_credentials_new(&k->lab.arena, k->aws.net, k->aws.clock,
						 "us-west-2", lookup, k);
	kube_init(&k->kube, &k->lab.arena, k->aws.net, &k->aws, 5000);
	k->target = (struct kube_target){"https://127.0.0.1:4567/k8s/abc", NULL, "demo"};
}

static void tear_down(struct klab *k)
{
	lab_stop(&k->lab);
}

/* Bodies are written as JSON with single quotes. */
static json_t *js(struct klab *k, const char *text)
{
	struct err e;
	char *copy = arena_strdup(&k->lab.arena, text);
	json_t *tree = NULL;

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	tree = json_parse(&k->lab.arena, str_of(copy), &e);
	cr_assert_not_null(tree, "%s: %s", e.detail, text);
	return tree;
}

static const struct kube_result *call(struct klab *k, const struct kube_request *r)
{
	kube_call(&k->kube, &k->target, r, &k->lab.arena, &k->res);
	return &k->res;
}

static struct kube_request on(enum kube_verb verb, const char *api, const char *plural,
			      const char *ns, const char *name)
{
	return (struct kube_request){
		.verb = verb, .api = api, .plural = plural, .ns = ns, .name = name};
}

static const struct kube_result *apply(struct klab *k, const char *api,
				       const char *plural, const char *ns,
				       const char *name, const char *body)
{
	struct kube_request r = on(KUBE_APPLY, api, plural, ns, name);

	r.body = js(k, body);
	return call(k, &r);
}

static json_t *stored(struct klab *k, const char *api, const char *plural, const char *ns,
		      const char *name)
{
	return cloud_kube_get(k->lab.cloud, "demo", api, plural, ns, name);
}

static void add_node(struct klab *k, const char *name, const char *gpus)
{
	cloud_kube_put(
		k->lab.cloud, "demo",
		json_deep_copy(js(
			k,
			arena_printf(
				&k->lab.arena,
				"{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s',"
				"'labels':{'group':'g'}},'status':{'allocatable':{"
				"'nvidia.com/gpu':'%s','cpu':'10'},'conditions':[{'type':"
				"'Ready','status':'True'}]}}",
				name, gpus))));
}

static void pass(struct klab *k, int64_t ms)
{
	for (; ms > 0; ms -= 500) {
		clock_manual_advance(&k->lab.clock, 500);
		cloud_advance(k->lab.cloud);
	}
}

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

/* --- apply ------------------------------------------------------------------------ */

#define CM(data)                                                                         \
	"{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','namespace':"      \
	"'default'},'data':" data "}"

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

#define PV(name, handle, more)                                                           \
	"{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'" name         \
	"'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteMany'],"       \
	"'storageClassName':'','mountOptions':['allow-delete','region us-west-2'],"      \
	"'csi':{'driver':'s3.csi.aws.com','volumeHandle':'" handle                       \
	"','volumeAttributes':{'bucketName':'bkt'}}" more "}}"
#define PVC(name, pv)                                                                    \
	"{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'" name    \
	"','namespace':'default'},'spec':{'accessModes':['ReadWriteMany'],"              \
	"'storageClassName':'','volumeName':'" pv                                        \
	"','resources':{'requests':{'storage':'1Gi'}}}}"

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
		 422, "data.a"},
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
		 404, "could not find the requested resource"},
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
		{"{'size':'x'}", "must be of type integer"},
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

/* --- controllers
 * ----------------------------------------------------------------------------- */

#define DEPLOY(gpus)                                                                        \
	"{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d','namespace':"   \
	"'default'},'spec':{'replicas':2,'selector':{'matchLabels':{'a':'b'}},'template':{" \
	"'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'a','image':'i',"    \
	"'resources':{'limits':{'nvidia.com/gpu':'" gpus "'}}}]}}}}"

static const char *events(struct klab *k, const char *reason)
{
	struct kube_request r = on(KUBE_LIST, "v1", "events", "default", NULL);

	r.field_selector = arena_printf(&k->lab.arena, "reason=%s", reason);
	call(k, &r);
	return json_str_or(k->res.out, "items.0.message", "");
}

Test(cloud_kube, deployments_need_nodes_with_room)
{
	struct kube_request r;
	struct klab k;

	set_up(&k);
	cr_assert(apply(&k, "apps/v1", "deployments", "default", "d", DEPLOY("4"))->ok,
		  "%s", k.res.message);
	pass(&k, 4000);
	cr_expect_str_eq(events(&k, "FailedScheduling"),
			 "no nodes available to schedule pods");
	add_node(&k, "n1", "6");
	pass(&k, 4000);
	cr_expect_eq(json_int_or(stored(&k, "apps/v1", "deployments", "default", "d"),
				 "status.readyReplicas", -1),
		     1, "six GPUs hold one pod of four");
	add_node(&k, "n2", "8");
	pass(&k, 4000);
	cr_expect_eq(json_int_or(stored(&k, "apps/v1", "deployments", "default", "d"),
				 "status.readyReplicas", -1),
		     2);
	r = on(KUBE_DELETE, "apps/v1", "deployments", "default", "d");
	cr_expect(call(&k, &r)->ok);
	pass(&k, 3000);
	cr_expect_null(stored(&k, "apps/v1", "deployments", "default", "d"));
	r = on(KUBE_LIST, "v1", "pods", "default", NULL);
	cr_expect_eq(json_len_at(call(&k, &r)->out, "items"), 0,
		     "foreground takes the pods too");
	tear_down(&k);
}

#define JOB(name, claim)                                                                    \
	"{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'" name                   \
	"','namespace':'default'},'spec':{'backoffLimit':0,'template':{'spec':{"            \
	"'restartPolicy':'Never','containers':[{'name':'a','image':'train:1'}],'volumes':[" \
	"{'name':'v','persistentVolumeClaim':{'claimName':'" claim "'}}]}}}}"

Test(cloud_kube, claims_bind_and_are_protected_while_used)
{
	struct kube_request r;
	struct klab k;
	const char *why = NULL;

	set_up(&k);
	add_node(&k, "n1", "0");
	apply(&k, "v1", "persistentvolumeclaims", "default", "c", PVC("c", "v"));
	pass(&k, 1000);
	cr_expect_str_eq(
		json_str_or(stored(&k, "v1", "persistentvolumeclaims", "default", "c"),
			    "status.phase", ""),
		"Pending");
	apply(&k, "v1", "persistentvolumes", NULL, "v", PV("v", "h", ""));
	pass(&k, 1000);
	cr_expect_str_eq(
		json_str_or(stored(&k, "v1", "persistentvolumeclaims", "default", "c"),
			    "status.phase", ""),
		"Bound");
	cr_expect_str_eq(json_str_or(stored(&k, "v1", "persistentvolumes", NULL, "v"),
				     "spec.claimRef.name", ""),
			 "c");
	apply(&k, "batch/v1", "jobs", "default", "j", JOB("j", "c"));
	cr_assert(k.res.ok, "%s", k.res.message);
	pass(&k, 4000);
	why = events(&k, "FailedMount");
	cr_expect(
		strstr(why,
		       "s3.csi.aws.com not found in the list of registered CSI drivers"),
		"%s", why);
	r = on(KUBE_DELETE, "v1", "persistentvolumeclaims", "default", "c");
	cr_expect(call(&k, &r)->ok);
	pass(&k, 2000);
	cr_expect_not_null(stored(&k, "v1", "persistentvolumeclaims", "default", "c"),
			   "a pod uses it");
	r = on(KUBE_DELETE, "batch/v1", "jobs", "default", "j");
	cr_expect(call(&k, &r)->ok);
	pass(&k, 3000);
	cr_expect_null(stored(&k, "v1", "persistentvolumeclaims", "default", "c"));
	cr_expect_str_eq(json_str_or(stored(&k, "v1", "persistentvolumes", NULL, "v"),
				     "status.phase", ""),
			 "Released");
	r = on(KUBE_DELETE, "v1", "persistentvolumes", NULL, "v");
	cr_expect(call(&k, &r)->ok);
	pass(&k, 1000);
	cr_expect_null(stored(&k, "v1", "persistentvolumes", NULL, "v"));
	tear_down(&k);
}

Test(cloud_kube, jobs_logs_and_namespaces_end)
{
	struct kube_request r;
	struct klab k;
	const char *pod = NULL;

	set_up(&k);
	add_node(&k, "n1", "0");
	apply(&k, "v1", "namespaces", NULL, "t",
	      "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'t'}}");
	apply(&k, "batch/v1", "jobs", "t", "j",
	      "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j'},'spec':{'template':{"
	      "'spec':{'restartPolicy':'Never','containers':[{'name':'a','image':'i:1'}]}}}}");
	cr_assert(k.res.ok, "%s", k.res.message);
	r = on(KUBE_LIST, "v1", "pods", "t", NULL);
	pod = json_str_or(call(&k, &r)->out, "items.0.metadata.name", "");
	r = on(KUBE_LOG, NULL, NULL, "t", pod);
	cr_expect(strstr(call(&k, &r)->message, "is waiting to start"), "%s",
		  k.res.message);
	pass(&k, 8000);
	cr_expect_eq(json_int_or(stored(&k, "batch/v1", "jobs", "t", "j"),
				 "status.succeeded", 0),
		     1);
	cr_expect(str_starts(call(&k, &r)->text, "a started\n"), "%s", k.res.text);
	r.tail_lines = 1;
	r.timestamps = true;
	cr_expect_str_eq(call(&k, &r)->text,
			 "2026-01-02T03:04:10.000000000Z a: step=3\n");
	r = on(KUBE_DELETE, "v1", "namespaces", NULL, "t");
	cr_expect(call(&k, &r)->ok);
	apply(&k, "v1", "configmaps", "t", "c",
	      "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c'}}");
	cr_expect_eq(k.res.status / 100, 4, "no new content in a namespace that ends");
	pass(&k, 4000);
	cr_expect_null(stored(&k, "v1", "namespaces", NULL, "t"));
	cr_expect_null(stored(&k, "batch/v1", "jobs", "t", "j"));
	tear_down(&k);
}

/* --- buckets as volumes
 * ----------------------------------------------------------------------- */

static void install_s3_driver(struct klab *k)
{
	cloud_kube_put(k->lab.cloud, "demo",
		       json_deep_copy(js(
			       k, "{'apiVersion':'storage.k8s.io/v1','kind':'CSIDriver',"
				  "'metadata':{'name':'s3.csi.aws.com'},'spec':{}}")));
	cloud_kube_put(
		k->lab.cloud, "demo",
		json_deep_copy(js(
			k,
			"{'apiVersion':'apps/v1','kind':'DaemonSet','metadata':{'name':"
			"'s3-csi-node','namespace':'kube-system'},'spec':{'selector':{"
			"'matchLabels':{'app':'s3-csi-node'}},'template':{'metadata':{'labels':"
			"{'app':'s3-csi-node'}},'spec':{'containers':[{'name':'s3-plugin',"
			"'image':'i:1'}]}}}}")));
}

/* A volume, its claim, and a job of busybox over it. */
static void mount_and_probe(struct klab *k, const char *name, const char *handle,
			    const char *bucket, const char *options, const char *user)
{
	struct arena *a = &k->lab.arena;

	apply(k, "v1", "persistentvolumes", NULL, name,
	      arena_printf(
		      a,
		      "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},"
		      "'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteMany'],"
		      "'storageClassName':'','mountOptions':[%s],'csi':{'driver':"
		      "'s3.csi.aws.com','volumeHandle':'%s','volumeAttributes':{'bucketName':"
		      "'%s'}}}}",
		      name, options, handle, bucket));
	cr_assert(k->res.ok, "%s", k->res.message);
	apply(k, "v1", "persistentvolumeclaims", "default", name,
	      arena_printf(a, PVC("%s", "%s"), name, name));
	cr_assert(k->res.ok, "%s", k->res.message);
	apply(k, "batch/v1", "jobs", "default", name,
	      arena_printf(
		      a,
		      "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'%s'},'spec':"
		      "{'backoffLimit':0,'template':{'spec':{'restartPolicy':'Never',"
		      "'securityContext':{%s},'containers':[{'name':'probe','image':"
		      "'busybox:1.37','command':['sh','-c','echo x >/data/f; rm /data/f']}],"
		      "'volumes':[{'name':'data','persistentVolumeClaim':{'claimName':'%s'}}]"
		      "}}}}",
		      name, user, name));
	cr_assert(k->res.ok, "%s", k->res.message);
}

static size_t ledger_count(struct klab *k, const char *op)
{
	const json_t *entry = NULL;
	size_t i = 0;
	size_t n = 0;

	json_array_foreach(cloud_ledger(k->lab.cloud), i, entry)
		n += streq(json_str_at(entry, "op"), op);
	return n;
}

static const char *job_end(struct klab *k, const char *name)
{
	const json_t *job = stored(k, "batch/v1", "jobs", "default", name);

	if (json_int_or(job, "status.succeeded", 0) > 0)
		return "Complete";
	return json_find(json_at(job, "status.conditions"), "type", "Failed") ? "Failed"
									      : "";
}

Test(cloud_kube, buckets_mount_when_all_is_sound)
{
	static const struct {
		const char *name, *bucket, *options, *user;
		const char *end;  /* "": never runs */
		const char *says; /* of the container, or of the mount */
	} rows[] = {
		{"sound", "bkt-a", "'allow-delete','region us-west-2','prefix p/'", "",
		 "Complete", "probe: step"},
		{"no-delete", "bkt-a", "'region us-west-2'", "", "Failed",
		 "Operation not permitted"},
		{"read-only", "bkt-a", "'read-only'", "", "Failed",
		 "Read-only file system"},
		{"other-user", "bkt-a", "'allow-delete'", "'runAsUser':1000", "Failed",
		 "Permission denied"},
		{"their-user", "bkt-a", "'allow-delete','allow-other','uid=1000'",
		 "'runAsUser':1000", "Complete", ""},
		{"no-bucket", "bkt-zzz", "'allow-delete'", "", "",
		 "bkt-zzz does not exist"},
		{"bad-prefix", "bkt-a", "'prefix p'", "", "", "must end in '/'"},
	};
	struct klab k;

	set_up(&k);
	lab_call(&k.lab, "s3", "CreateBucket", "{s:s,s:{s:s}}", "Bucket", "bkt-a",
		 "CreateBucketConfiguration", "LocationConstraint", "us-west-2");
	add_node(&k, "n1", "0");
	install_s3_driver(&k);
	pass(&k, 4000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kube_request r = on(KUBE_LIST, "v1", "pods", "default", NULL);
		const char *said = NULL;

		mount_and_probe(&k, rows[i].name, rows[i].name, rows[i].bucket,
				rows[i].options, rows[i].user);
		pass(&k, 8000);
		cr_expect_str_eq(job_end(&k, rows[i].name), rows[i].end, "%s",
				 rows[i].name);
		r.label_selector =
			arena_printf(&k.lab.arena, "job-name=%s", rows[i].name);
		call(&k, &r);
		said = json_str_or(k.res.out, "items.0.metadata.name", "");
		if (*rows[i].end) {
			r = on(KUBE_LOG, NULL, NULL, "default", said);
			said = call(&k, &r)->text;
		} else {
			r = on(KUBE_LIST, "v1", "events", "default", NULL);
			r.field_selector = arena_printf(
				&k.lab.arena, "reason=FailedMount,involvedObject.name=%s",
				said);
			said = json_str_or(call(&k, &r)->out, "items.0.message", "");
		}
		cr_expect(said && strstr(said, rows[i].says), "%s: %s", rows[i].name,
			  said ? said : "");
	}
	cr_expect_eq(ledger_count(&k, "PutObject"), 3);
	cr_expect_eq(ledger_count(&k, "DeleteObject"), 2);
	tear_down(&k);
}

Test(cloud_kube, two_volumes_with_one_handle_collide_on_a_node)
{
	struct klab k;

	set_up(&k);
	lab_call(&k.lab, "s3", "CreateBucket", "{s:s,s:{s:s}}", "Bucket", "bkt-a",
		 "CreateBucketConfiguration", "LocationConstraint", "us-west-2");
	add_node(&k, "n1", "0");
	install_s3_driver(&k);
	cloud_configure(k.lab.cloud, js(&k, "{'kube_job_run_ms':60000}"));
	pass(&k, 4000);
	mount_and_probe(&k, "first", "same", "bkt-a", "'allow-delete'", "");
	pass(&k, 4000);
	mount_and_probe(&k, "second", "same", "bkt-a", "'allow-delete'", "");
	pass(&k, 10000);
	cr_expect(strstr(events(&k, "FailedMount"), "volume handle is in use"), "%s",
		  events(&k, "FailedMount"));
	cr_expect_eq(json_int_or(stored(&k, "batch/v1", "jobs", "default", "first"),
				 "status.ready", 0),
		     1);
	cr_expect_eq(json_int_or(stored(&k, "batch/v1", "jobs", "default", "second"),
				 "status.ready", 0),
		     0);
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
