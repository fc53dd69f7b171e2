#include "core/domain/node/refresh.h"

#include "core/base/base64.h"
#include "core/domain/node/node_row.h"
#include "core/json/tree.h"
#include "core/op/backoff.h"
#include "gen/queries.h"

/* Small pages: a poller has other things in its memory, too. */
enum { NODE_PAGE = 100, KUBE_PAGE = 100, POD_PAGE = 400, TRIES = 5, GAP_S_MS = 1000 };

/* A page under way: what was claimed, and what became of it. */
struct page {
	struct runner *r;
	struct arena *a;
	const json_t *claim;
	json_t *out; /* of refresh_settle */
	struct exchange x;
	struct answer ans;
};

struct phase {
	const char *name;
	const char *next;  /* after its last page */
	const char *again; /* where to begin anew when its pages have expired */
	void (*ask)(struct page *p);
	void (*take)(struct page *p);
	void (*gone)(struct page *p); /* there is no such thing; NULL: a failure */
};

static const char *of(const struct page *p, const char *path)
{
	return json_str_or(p->claim, path, "");
}

static const char *cursor(const struct page *p)
{
	return json_str_at(p->claim, "cursor");
}

/* The phase has another page; else it is over. */
static void go_on(struct page *p, const char *next_cursor)
{
	if (next_cursor && *next_cursor) {
		json_drop(p->out, "next");
		json_put_str(p->out, "cursor", next_cursor);
	}
}

/* --- phases ------------------------------------------------------------ */

static void ask_eks(struct page *p)
{
	exchange_aws(&p->x, AWS_EKS_DescribeCluster,
		     json_packf(p->a, "{s:s}", "name", of(p, "eks_name")));
}

static void take_eks(struct page *p)
{
	const json_t *c = json_at(p->ans.out, "cluster");
	const char *ca = json_str_at(c, "certificateAuthority.data");

	json_put(p->out, "data",
		 json_pack("{s:s*, s:s*, s:{s:s*, s:s*, s:s*, s:s*}}", "endpoint",
			   json_str_at(c, "endpoint"), "ca_pem",
			   ca ? base64_decode(p->a, ca, NULL) : NULL, "eks", "status",
			   json_str_at(c, "status"), "version", json_str_at(c, "version"),
			   "endpoint", json_str_at(c, "endpoint"), "vpc_id",
			   json_str_at(c, "resourcesVpcConfig.vpcId")));
}

/* Its nodes are in no Kubernetes: there is nothing more to look at. */
static void gone_eks(struct page *p)
{
	json_put(p->out, "data", json_pack("{s:{s:s}}", "eks", "status", "gone"));
	json_put_str(p->out, "next", "sum");
}

static void ask_groups(struct page *p)
{
	exchange_aws(&p->x, AWS_SAGEMAKER_DescribeCluster,
		     json_packf(p->a, "{s:s}", "ClusterName", of(p, "hyperpod_name")));
}

static void take_groups(struct page *p)
{
	json_t *rows = json_array(), *g;
	size_t i;

	json_array_foreach(json_at(p->ans.out, "InstanceGroups"), i, g)
		json_push(rows, json_pack("{s:s, s:O}", "name",
					  json_str_or(g, "InstanceGroupName", "?"),
					  "observed", g));
	json_put(p->out, "rows", rows);
	json_put(p->out, "data",
		 json_pack("{s:{s:s*, s:s*}}", "hyperpod", "status",
			   json_str_at(p->ans.out, "ClusterStatus"), "arn",
			   json_str_at(p->ans.out, "ClusterArn")));
}

static void gone_groups(struct page *p)
{
	json_put(p->out, "data", json_pack("{s:{s:s}}", "hyperpod", "status", "gone"));
}

static void gone_nodes(struct page *p)
{
	(void)p; /* no rows, which is an answer */
}

static void ask_nodes(struct page *p)
{
	json_t *in = json_packf(p->a, "{s:s, s:b, s:i, s:s, s:s}", "ClusterName",
				of(p, "hyperpod_name"), "IncludeNodeLogicalIds", 1,
				"MaxResults", NODE_PAGE, "SortBy", "CREATION_TIME",
				"SortOrder", "Ascending");

	json_put_str(in, "NextToken", cursor(p));
	exchange_aws(&p->x, AWS_SAGEMAKER_ListClusterNodes, in);
}

static void take_nodes(struct page *p)
{
	json_put(p->out, "rows", node_rows(json_at(p->ans.out, "ClusterNodeSummaries")));
	go_on(p, json_str_at(p->ans.out, "NextToken"));
}

static void ask_kube(struct page *p, const char *plural, int limit)
{
	const struct kube_target t = {.endpoint = of(p, "data.endpoint"),
				      .ca_pem = json_str_at(p->claim, "data.ca_pem"),
				      .cluster_name = of(p, "eks_name")};

	exchange_kube(&p->x, &t,
		      &(struct kube_request){.verb = KUBE_LIST,
					     .api = "v1",
					     .plural = plural,
					     .limit = limit,
					     .continue_ = cursor(p)});
}

static void ask_kube_nodes(struct page *p)
{
	ask_kube(p, "nodes", KUBE_PAGE);
}

static void take_kube_nodes(struct page *p)
{
	json_put(p->out, "rows", node_kube_rows(json_at(p->ans.out, "items")));
	go_on(p, json_str_at(p->ans.out, "metadata.continue"));
}

static void ask_kube_pods(struct page *p)
{
	ask_kube(p, "pods", POD_PAGE);
}

static void take_kube_pods(struct page *p)
{
	json_put(p->out, "rows", node_pod_rows(p->a, json_at(p->ans.out, "items")));
	go_on(p, json_str_at(p->ans.out, "metadata.continue"));
}

static const struct phase phases[] = {
	{"eks", "groups", "eks", ask_eks, take_eks, gone_eks},
	{"groups", "nodes", "groups", ask_groups, take_groups, gone_groups},
	{"nodes", "kube_nodes", "nodes", ask_nodes, take_nodes, gone_nodes},
	{"kube_nodes", "kube_pods", "kube_nodes", ask_kube_nodes, take_kube_nodes, NULL},
	/* Pods of pages that were read are in the sums: only the nodes begin at none. */
	{"kube_pods", "sum", "kube_nodes", ask_kube_pods, take_kube_pods, NULL},
	{"sum", NULL, NULL, NULL, NULL, NULL},
};

static const struct phase *phase_of(const char *name)
{
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		if (streq(phases[i].name, name))
			return &phases[i];
	return &phases[0];
}

/* --- one page ---------------------------------------------------------- */

/*
 * A page is tried again with growing intervals, then the round is given up; the
 * rows stay, and say how old they are. A page token that has expired begins the
 * phase anew.
 */
static void note_failure(struct page *p, const struct phase *ph)
{
	const struct answer *ans = &p->ans;
	const bool expired = ans->status == 410 || answer_is(ans, "Expired");
	const int attempt = (int)json_int_or(p->claim, "attempt", 0);
	const bool over = attempt + 1 >= TRIES ||
			  !(ans->ambiguous || expired || backoff_is_transient(ans->errc));
	const int64_t due_ms =
		over ? p->r->cfg->refresh_ms : backoff_ms(p->r->rng, ans->errc, attempt);

	json_put(p->out, "error",
		 json_sprintf("%s: %s %s", ans->call ? ans->call : ph->name,
			      ans->code ? ans->code : "", ans->message));
	json_put_int(p->out, "due_ms", due_ms);
	json_drop(p->out, "next");
	if (over)
		json_put_str(p->out, "next", "idle");
	else if (expired)
		json_put_str(p->out, "next", ph->again);
}

static void read_page(struct page *p)
{
	const struct phase *ph = phase_of(of(p, "phase"));

	json_put_str(p->out, "next", ph->next);
	if (!ph->ask)
		return;
	ph->ask(p);
	runner_look(p->r, &p->x, p->a, &p->ans);
	if (p->ans.ok)
		ph->take(p);
	else if (ph->gone && p->ans.errc == ERR_CLOUD_NOT_FOUND)
		ph->gone(p);
	else
		note_failure(p, ph);
}

static bool claim(struct runner *r, struct arena *a, json_t **ret, struct err *e)
{
	const int64_t gap_ms = GAP_S_MS / r->cfg->refresh_calls;
	struct db_rows rows;
	const char *text;

	*ret = NULL;
	if (!DB(r->db, a, &Q_refresh_claim, &rows, e,
		arena_printf(a, "%lld", (long long)r->cfg->lease_ms),
		arena_printf(a, "%lld", (long long)r->cfg->refresh_ms),
		arena_printf(a, "%lld", (long long)gap_ms)))
		return false;
	text = rows.n ? db_text(&rows, 0, "claim") : NULL;
	if (text)
		*ret = json_parse(a, str_of(text), e);
	return !text || *ret;
}

bool refresh_tick(struct runner *r, struct arena *a, bool *ret_worked,
		  int64_t *ret_wait_ms, struct err *e)
{
	struct page p = {.r = r, .a = a, .x = {.via = VIA_NONE}};
	struct db_rows ignored;
	json_t *claimed;

	*ret_worked = false;
	*ret_wait_ms = -1;
	if (!claim(r, a, &claimed, e))
		return false;
	if (!json_str_at(claimed, "phase")) {
		*ret_wait_ms = json_int_or(claimed, "wait_ms", -1);
		return true;
	}
	p.claim = claimed;
	p.out = json_packf(a, "{s:s, s:I, s:I, s:I}", "cluster", of(&p, "cluster"), "gen",
			   (json_int_t)json_int_or(claimed, "gen", 0), "idle_ms",
			   (json_int_t)r->cfg->refresh_idle_ms, "spacing_ms",
			   (json_int_t)r->cfg->visibility_ms);
	read_page(&p);
	*ret_worked = true;
	return DB(r->db, a, &Q_refresh_settle, &ignored, e, json_text(a, p.out));
}
