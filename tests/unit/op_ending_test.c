/* Nothing can be made in a namespace that is being deleted: what is waited for, by name.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "core/json/tree.h"
#include "core/kube/ending.h"
#include "core/op/walk.h"

#define SAID                                                                                  \
	"secrets \"x\" is forbidden: unable to create new content in namespace team because " \
	"it is being terminated"

Test(op_ending, the_namespace_is_read_out_of_what_a_server_or_helm_says)
{
	static const struct {
		const char *text, *ns;
	} rows[] = {
		{SAID, "team"},
		{"Error: create: failed to create: " SAID "\nmore", "team"},
		{"in namespace a, then in namespace b because it is being terminated",
		 "b"},
		{"because it is being terminated", NULL},
		{"the pod is being terminated in namespace x", NULL},
		{"", NULL},
		{NULL, NULL},
	};
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *ns = kube_ending_of(rows[i].text, &a);

		cr_expect(rows[i].ns ? streq(ns, rows[i].ns) : !ns, "row %zu: %s", i,
			  ns ? ns : "-");
	}
	arena_free(&a);
}

/* --- the wait ------------------------------------------------------------------ */

static const char *namespace, *apis; /* JSON with ' for "; NULL: no answer */

static json_t *tree(struct arena *a, const char *text)
{
	char *z = arena_strdup(a, text);
	struct err e;

	for (char *p = z; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	return json_parse(a, str_of(z), &e);
}

static void answer(struct runner *r, const struct exchange *x, const char *token,
		   struct arena *a, struct answer *ret)
{
	const char *text =
		streq(x->kube.plural, "namespaces")    ? namespace
		: streq(x->kube.plural, "apiservices") ? apis
		: streq(x->kube.plural, "services")
			? "{'metadata':{'labels':{'app.kubernetes.io/name':'metrics-server'}},"
			  "'spec':{'selector':{'app':'m'}}}"
			: "{'items':[{'metadata':{'name':'m-1'},'status':{'conditions':[{'type'"
			  ":'PodScheduled','status':'False','message':'0/0 nodes are available'"
			  "}]}}]}";

	(void)r;
	(void)token;
	ret->ok = text != NULL;
	ret->errc = text ? ERR_NONE : ERR_CLOUD_NOT_FOUND;
	ret->out = text ? tree(a, text) : NULL;
}

#define ENDING(type, message)                                                            \
	"{'metadata':{'name':'team','deletionTimestamp':'2026-01-02T03:04:05Z'},"        \
	"'status':{'conditions':[{'type':'" type "','status':'True','message':'" message \
	"'}]}}"
#define API(name, status)                                                                \
	"{'spec':{'group':'" name "','version':'v1beta1','service':{'name':'m',"         \
	"'namespace':'kube-system'}},'status':{'conditions':[{'type':'Available',"       \
	"'status':'" status "','message':'no addresses'}]}}"
#define BLIND                                                                            \
	ENDING("NamespaceDeletionDiscoveryFailure", "Discovery failed for some groups")
#define LOCAL "{'spec':{'group':'apps','version':'v1'},'status':{}}"

Test(op_ending, it_names_what_is_left_and_the_api_that_nobody_answers)
{
	static const struct {
		const char *ns, *apis, *says, *fix;
	} rows[] = {
		{BLIND,
		 "{'items':[" LOCAL "," API("fine.example.com", "True") "," API(
			 "metrics.k8s.io", "False") "]}",
		 "namespace team to be deleted: the API metrics.k8s.io/v1beta1 of "
		 "metrics-server does not answer: 0 of its 1 pods are ready: m-1 (0/0 nodes",
		 "metrics.k8s.io/v1beta1"},
		{BLIND, NULL, "Discovery failed for some groups",
		 "kubectl get namespace"},
		{ENDING("NamespaceFinalizersRemaining", "x/y in 1 resource instances"),
		 NULL, "x/y in 1 resource", "kubectl get namespace team"},
		{NULL, NULL, "the namespace team to be deleted", "kubectl get"},
	};
	struct runner r = {.exchange = answer};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct exchange x = {.via = VIA_HELM};
		const struct answer ans = {.call = "helm:upgrade",
					   .code = "exit 1",
					   .message = "Error: " SAID,
					   .errc = ERR_CLOUD_CONFLICT};
		struct arena a;
		struct walk w = {.r = &r, .a = &a, .ctx = {.arena = &a}};
		const struct verdict *v = &w.ctx.verdict;

		arena_init(&a, 0);
		namespace = rows[i].ns;
		apis = rows[i].apis;
		cr_assert(walk_ending(&w, &x, &ans));
		cr_assert_eq(v->kind, VERDICT_WAIT, "row %zu", i);
		cr_expect(strstr(v->waiting_for, rows[i].says), "row %zu: %s", i,
			  v->waiting_for);
		cr_expect(strstr(v->error.fix, rows[i].fix), "row %zu: %s", i,
			  v->error.fix);
		cr_expect_not(strstr(v->waiting_for, "fine.example.com"));
		cr_expect_eq(v->error.n_causes, 1);
		arena_free(&a);
	}
}

Test(op_ending, other_refusals_are_not_its_affair)
{
	const struct exchange x = {.via = VIA_KUBE};
	const struct answer fine = {.ok = true, .message = SAID};
	const struct answer other = {.message = "is forbidden"};
	struct arena a;
	struct walk w = {.a = &a, .ctx = {.arena = &a}};

	arena_init(&a, 0);
	cr_expect_not(walk_ending(&w, &x, &fine));
	cr_expect_not(walk_ending(&w, &x, &other));
	cr_expect_eq(w.ctx.verdict.kind, VERDICT_NONE);
	arena_free(&a);
}
