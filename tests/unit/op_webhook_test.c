/* A webhook that must answer and has nobody behind it: what is said, what is waited for.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "core/json/tree.h"
#include "core/kube/webhook.h"
#include "core/op/walk.h"

#define POST "Post \"https://lb-hook.kube-system.svc:443/mutate?timeout=10s\": "

Test(op_webhook, what_a_server_says_is_taken_apart)
{
	static const struct {
		const char *text, *name, *ns, *service, *why;
	} rows[] = {
		{"Internal error occurred: failed calling webhook \"m.elbv2.k8s.aws\": failed to "
		 "call webhook: " POST "no endpoints available for service \"lb-hook\"",
		 "m.elbv2.k8s.aws", "kube-system", "lb-hook",
		 "no endpoints available for service \"lb-hook\""},
		/* Inside of Helm's words, with more behind it. */
		{"Error: UPGRADE FAILED: failed to create resource: Internal error occurred: failed "
		 "calling webhook \"w.cert-manager.io\": failed to call webhook: Post "
		 "\"https://hook.cert-manager.svc:443/validate?timeout=30s\": x509: certificate "
		 "signed by unknown authority\nmore",
		 "w.cert-manager.io", "cert-manager", "hook",
		 "x509: certificate signed by unknown authority"},
		{"failed calling webhook \"w\": failed to call webhook: Post "
		 "\"https://hooks.example.com/x?timeout=10s\": dial tcp: i/o timeout",
		 "w", "", "", "dial tcp: i/o timeout"},
		/* Older servers. */
		{"failed calling webhook, failing closed w: " POST "connection refused",
		 "", "kube-system", "lb-hook", "connection refused"},
		{"failed calling webhook", "", "", "", ""},
		{"failed calling webhook \"", "", "", "", ""},
		{"failed calling webhook \"a\": https://x.y.svc", "a", "", "",
		 "https://x.y.svc"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kube_webhook h;
		struct arena a;

		arena_init(&a, 0);
		cr_assert(kube_webhook_of(rows[i].text, &a, &h), "row %zu", i);
		cr_expect_str_eq(h.name, rows[i].name, "row %zu: %s", i, h.name);
		cr_expect_str_eq(h.ns, rows[i].ns, "row %zu: %s", i, h.ns);
		cr_expect_str_eq(h.service, rows[i].service, "row %zu: %s", i, h.service);
		cr_expect_str_eq(h.why, rows[i].why, "row %zu: %s", i, h.why);
		arena_free(&a);
	}
}

/* Whatever is cut off: no crash, and no service out of half a name. */
Test(op_webhook, any_piece_of_it_can_be_read)
{
	static const char whole[] =
		"failed calling webhook \"m.aws\": failed to call webhook: " POST "no";
	struct arena a;

	arena_init(&a, 0);
	for (size_t n = 0; n < sizeof(whole); n++) {
		struct kube_webhook h;
		const char *piece = arena_strndup(&a, whole, n);

		if (kube_webhook_of(piece, &a, &h) && *h.service)
			cr_expect(streq(h.service, "lb-hook") &&
					  streq(h.ns, "kube-system"),
				  "%s", piece);
		cr_expect_eq(kube_webhook_of(piece + (n > 0), &a, &h), false);
	}
	arena_free(&a);
}

/* --- the wait ------------------------------------------------------------------ */

static const char *service, *pods; /* JSON with ' for "; NULL: there is none */

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
	const char *text = streq(x->kube.plural, "services") ? service : pods;

	(void)r;
	(void)token;
	cr_assert_eq(x->via, VIA_KUBE);
	cr_assert_str_eq(x->kube.ns, "kube-system");
	ret->ok = text != NULL;
	ret->errc = text ? ERR_NONE : ERR_CLOUD_NOT_FOUND;
	ret->out = text ? tree(a, text) : NULL;
}

#define SERVICE                                                                          \
	"{'metadata':{'labels':{'app.kubernetes.io/name':'lb-controller'}},"             \
	"'spec':{'selector':{'app':'lb'}}}"
#define PENDING(n)                                                                       \
	"{'metadata':{'name':'" n "'},'status':{'phase':'Pending','conditions':[{"       \
	"'type':'PodScheduled','status':'False','message':'0/0 nodes are available'}]}}"
#define PULLING                                                                          \
	"{'metadata':{'name':'p'},'status':{'containerStatuses':[{'state':{'waiting':"   \
	"{'reason':'ImagePullBackOff'}}}]}}"
#define READY                                                                            \
	"{'metadata':{'name':'r'},'status':{'conditions':[{'type':'Ready',"              \
	"'status':'True'}]}}"

Test(op_webhook, it_is_waited_for_by_name_with_what_its_pods_lack)
{
	static const struct {
		const char *service, *pods, *says;
	} rows[] = {
		{SERVICE, "{'items':[" PENDING("a") "," PENDING("b") "]}",
		 "0 of its 2 pods are ready: a (0/0 nodes are available), b (0/0"},
		{SERVICE, "{'items':[" PULLING "," READY "]}",
		 "1 of its 2 pods is ready: p (ImagePullBackOff)"},
		{SERVICE,
		 "{'items':[" PENDING("a") "," PENDING("b") "," PENDING("c") "," PENDING(
			 "d") "]}",
		 "c (0/0 nodes are available) and 1 more"},
		{SERVICE, "{'items':[]}", "it has no pods"},
		{SERVICE, NULL, "no endpoints"},
		{NULL, NULL, "no endpoints"},
	};
	struct runner r = {.exchange = answer};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct exchange x = {.via = VIA_HELM};
		const struct answer ans = {
			.call = "helm:upgrade",
			.code = "exit 1",
			.message =
				"failed calling webhook \"m.aws\": failed to call webhook: " POST
				"no endpoints",
			.errc = ERR_WEBHOOK_UNSERVED};
		struct arena a;
		struct walk w = {.r = &r, .a = &a, .ctx = {.arena = &a}};
		const struct verdict *v = &w.ctx.verdict;

		arena_init(&a, 0);
		service = rows[i].service;
		pods = rows[i].pods;
		walk_webhook(&w, &x, &ans);
		cr_assert_eq(v->kind, VERDICT_WAIT, "row %zu", i);
		cr_expect(strstr(v->waiting_for, "m.aws") &&
				  strstr(v->waiting_for,
					 rows[i].service ? "lb-controller" : "lb-hook") &&
				  strstr(v->waiting_for, rows[i].says),
			  "row %zu: %s", i, v->waiting_for);
		/* When its time is over, this is the failure's cause and fix. */
		cr_expect_eq(v->error.code, ERR_WEBHOOK_UNSERVED);
		cr_expect(strstr(v->error.fix, "kube-system/lb-hook"), "%s",
			  v->error.fix);
		cr_expect_eq(v->error.n_causes, 1);
		arena_free(&a);
	}
}
