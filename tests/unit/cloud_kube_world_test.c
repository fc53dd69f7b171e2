/* Controllers, volumes and webhooks of the simulated cluster. */
#include "tests/unit/kube_lab.h"

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

static void lose_node(struct klab *k, const char *name)
{
	json_t *node = json_deep_copy(stored(k, "v1", "nodes", NULL, name));

	json_put_str(node, "status.conditions.0.status", "Unknown");
	cloud_kube_put(k->lab.cloud, "demo", node);
}

Test(cloud_kube_world, deployments_need_nodes_with_room)
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
	lose_node(&k, "n2");
	pass(&k, 1000);
	cr_expect_eq(json_int_or(stored(&k, "apps/v1", "deployments", "default", "d"),
				 "status.readyReplicas", -1),
		     1, "a node that does not answer has no ready pods");
	add_node(&k, "n2", "8");
	pass(&k, 1000);
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

#define PLAIN_DEPLOY                                                                        \
	"{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d','namespace':"   \
	"'default'},'spec':{'replicas':1,'selector':{'matchLabels':{'a':'b'}},'template':{" \
	"'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'a','image':'i'}]}}}}"

/* kubectl rollout history and undo read these numbers. */
static const char *revisions(struct klab *k)
{
	struct kube_request r = on(KUBE_LIST, "apps/v1", "replicasets", "default", NULL);
	static const char note[] = "deployment.kubernetes.io/revision";
	const json_t *each = NULL;
	struct buf b;
	size_t i = 0;

	buf_init(&b, &k->lab.arena, 256);
	buf_printf(&b, "%s:",
		   json_string_value(json_object_get(
			   json_at(stored(k, "apps/v1", "deployments", "default", "d"),
				   "metadata.annotations"),
			   note)));
	json_array_foreach(json_at(call(k, &r)->out, "items"), i, each) {
		buf_printf(&b, " %s=%s",
			   json_str_or(each, "spec.template.spec.containers.0.image", ""),
			   json_string_value(json_object_get(
				   json_at(each, "metadata.annotations"), note)));
	}
	return buf_cstr(&b);
}

Test(cloud_kube_world, a_rollout_has_a_history)
{
	static const struct {
		const char *image, *oldest, *other;
		const char *deployment;
	} rows[] = {
		{"i", "i=1", "", "1:"},
		{"j", "i=1", "j=2", "2:"},
		/* The first template again: its set is the newest now. */
		{"i", "i=3", "j=2", "3:"},
	};
	struct kube_request r =
		on(KUBE_MERGE_PATCH, "apps/v1", "deployments", "default", "d");
	struct klab k;

	set_up(&k);
	add_node(&k, "n", "8");
	cr_assert(apply(&k, "apps/v1", "deployments", "default", "d", PLAIN_DEPLOY)->ok,
		  "%s", k.res.message);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *seen = NULL;

		r.body =
			js(&k, arena_printf(&k.lab.arena,
					    "{'spec':{'template':{'spec':{'containers':[{"
					    "'name':'a','image':'%s'}]}}}}",
					    rows[i].image));
		cr_assert(call(&k, &r)->ok, "%s", k.res.message);
		pass(&k, 4000);
		seen = revisions(&k);
		cr_expect(str_starts(seen, rows[i].deployment) &&
				  strstr(seen, rows[i].oldest) &&
				  strstr(seen, rows[i].other),
			  "row %zu: %s", i, seen);
	}
	tear_down(&k);
}

#define JOB(name, claim)                                                                    \
	"{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'" name                   \
	"','namespace':'default'},'spec':{'backoffLimit':0,'template':{'spec':{"            \
	"'restartPolicy':'Never','containers':[{'name':'a','image':'train:1'}],'volumes':[" \
	"{'name':'v','persistentVolumeClaim':{'claimName':'" claim "'}}]}}}}"

Test(cloud_kube_world, claims_bind_and_are_protected_while_used)
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

Test(cloud_kube_world, jobs_logs_and_namespaces_end)
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

Test(cloud_kube_world, buckets_mount_when_all_is_sound)
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

Test(cloud_kube_world, two_volumes_with_one_handle_collide_on_a_node)
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

/* --- admission webhooks
 * ----------------------------------------------------------------------- */

Test(cloud_kube_world, a_webhook_must_answer_before_writes_pass)
{
	struct klab k;

	set_up(&k);
	apply(&k, "admissionregistration.k8s.io/v1", "validatingwebhookconfigurations",
	      NULL, "w",
	      "{'apiVersion':'admissionregistration.k8s.io/v1','kind':"
	      "'ValidatingWebhookConfiguration','metadata':{'name':'w'},'webhooks':[{'name':'w.x.io',"
	      "'failurePolicy':'Fail','rules':[{'apiGroups':[''],'apiVersions':['v1'],'operations':["
	      "'CREATE'],'resources':['configmaps']}],'clientConfig':{'service':{'name':'hook',"
	      "'namespace':'default','path':'/v'}}}]}");
	cr_assert(k.res.ok, "%s", k.res.message);
	apply(&k, "v1", "configmaps", "default", "c", CM("{}"));
	cr_expect_eq(k.res.errc, ERR_WEBHOOK_UNSERVED);
	cr_expect(strstr(k.res.message, "failed calling webhook \"w.x.io\""), "%s",
		  k.res.message);
	cr_expect(strstr(k.res.message, "service \"hook\" not found"), "%s",
		  k.res.message);
	apply(&k, "v1", "services", "default", "hook",
	      "{'apiVersion':'v1','kind':'Service','metadata':{'name':'hook'},'spec':{'selector':{"
	      "'a':'b'},'ports':[{'port':443}]}}");
	apply(&k, "v1", "configmaps", "default", "c", CM("{}"));
	cr_expect(strstr(k.res.message, "no endpoints available"), "%s", k.res.message);
	add_node(&k, "n1", "8");
	apply(&k, "apps/v1", "deployments", "default", "d", DEPLOY("1"));
	pass(&k, 3000);
	apply(&k, "v1", "configmaps", "default", "c", CM("{}"));
	cr_expect(strstr(k.res.message, "certificate signed by unknown authority"), "%s",
		  k.res.message);
	pass(&k, 6000);
	cr_expect(apply(&k, "v1", "configmaps", "default", "c", CM("{}"))->ok, "%s",
		  k.res.message);
	tear_down(&k);
}

/* Which writes a webhook that nobody serves holds up. */
Test(cloud_kube_world, a_webhook_guards_what_its_rules_and_selectors_say)
{
#define RULE(more)                                                                       \
	"'rules':[{'apiGroups':[''],'apiVersions':['v1'],'operations':['CREATE']," more  \
	"}]"
#define MAPS RULE("'resources':['configmaps']")
	static const struct {
		const char *webhook;
		bool refused;
	} rows[] = {
		{MAPS, true},
		{MAPS ",'failurePolicy':'Fail'", true},
		{MAPS ",'failurePolicy':'Ignore'", false},
		{RULE("'resources':['services']"), false},
		{RULE("'resources':['*']"), true},
		{RULE("'resources':['*/*']"), true},
		{RULE("'resources':['configmaps'],'scope':'Namespaced'"), true},
		{RULE("'resources':['configmaps'],'scope':'Cluster'"), false},
		{"'rules':[{'apiGroups':['apps'],'apiVersions':['*'],'operations':['*'],"
		 "'resources':['*']}]",
		 false},
		{"'rules':[{'apiGroups':['*'],'apiVersions':['*'],'operations':['UPDATE'],"
		 "'resources':['*']}]",
		 false},
		{MAPS
		 ",'objectSelector':{'matchExpressions':[{'key':'team','operator':'NotIn',"
		 "'values':['a']}]}",
		 false},
		{MAPS ",'objectSelector':{'matchLabels':{'team':'a'}}", true},
		{MAPS
		 ",'namespaceSelector':{'matchExpressions':[{'key':'inject','operator':"
		 "'In','values':['enabled']}]}",
		 false},
		{MAPS
		 ",'namespaceSelector':{'matchLabels':{'kubernetes.io/metadata.name':"
		 "'default'}}",
		 true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct klab k;

		set_up(&k);
		apply(&k, "admissionregistration.k8s.io/v1",
		      "mutatingwebhookconfigurations", NULL, "w",
		      arena_printf(
			      &k.lab.arena,
			      "{'apiVersion':'admissionregistration.k8s.io/v1','kind':"
			      "'MutatingWebhookConfiguration','metadata':{'name':'w'},"
			      "'webhooks':[{'name':'w.x.io','sideEffects':'None',"
			      "'admissionReviewVersions':['v1'],'clientConfig':{'service':{"
			      "'name':'hook','namespace':'default'}},%s}]}",
			      rows[i].webhook));
		cr_assert(k.res.ok, "row %zu: %s", i, k.res.message);
		apply(&k, "v1", "configmaps", "default", "c",
		      "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','labels':"
		      "{'team':'a'}}}");
		cr_expect_eq(k.res.errc == ERR_WEBHOOK_UNSERVED, rows[i].refused,
			     "row %zu: %s", i, k.res.ok ? "passed" : k.res.message);
		cr_expect_eq(k.res.ok, !rows[i].refused, "row %zu", i);
		tear_down(&k);
	}
}
