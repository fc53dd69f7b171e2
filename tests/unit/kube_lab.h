/*
 * kube_lab.h - a simulated API server, seen through the product's own client, on
 * a clock that the test moves by hand.
 */
#ifndef INSTANTSTART_TESTS_UNIT_KUBE_LAB_H
#define INSTANTSTART_TESTS_UNIT_KUBE_LAB_H

#include "core/kube/kube.h"
#include "core/kube/watch.h"
#include "tests/unit/cloud_lab.h"

#define KEY    "AKIALABEXAMPLE"
#define SECRET "a-secret-of-the-lab"

struct klab {
	struct lab lab;
	struct aws aws;
	struct kube kube;
	struct kube_target target;
	struct kube_result res;
	const char *secret;
};

static inline const char *lookup(void *ctx, const char *name)
{
	const struct klab *k = ctx;

	if (streq(name, "AWS_ACCESS_KEY_ID"))
		return KEY;
	return streq(name, "AWS_SECRET_ACCESS_KEY") ? k->secret : NULL;
}

static inline void set_up(struct klab *k)
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

static inline void tear_down(struct klab *k)
{
	lab_stop(&k->lab);
}

/* Bodies are written as JSON with single quotes. */
static inline json_t *js(struct klab *k, const char *text)
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

static inline const struct kube_result *call(struct klab *k, const struct kube_request *r)
{
	kube_call(&k->kube, &k->target, r, &k->lab.arena, &k->res);
	return &k->res;
}

static inline struct kube_request on(enum kube_verb verb, const char *api,
				     const char *plural, const char *ns, const char *name)
{
	return (struct kube_request){
		.verb = verb, .api = api, .plural = plural, .ns = ns, .name = name};
}

static inline const struct kube_result *apply(struct klab *k, const char *api,
					      const char *plural, const char *ns,
					      const char *name, const char *body)
{
	struct kube_request r = on(KUBE_APPLY, api, plural, ns, name);

	r.body = js(k, body);
	return call(k, &r);
}

static inline json_t *stored(struct klab *k, const char *api, const char *plural,
			     const char *ns, const char *name)
{
	return cloud_kube_get(k->lab.cloud, "demo", api, plural, ns, name);
}

static inline void add_node(struct klab *k, const char *name, const char *gpus)
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

static inline void pass(struct klab *k, int64_t ms)
{
	for (; ms > 0; ms -= 500) {
		clock_manual_advance(&k->lab.clock, 500);
		cloud_advance(k->lab.cloud);
	}
}

#define CM(data)                                                                         \
	"{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','namespace':"      \
	"'default'},'data':" data "}"
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

#endif
