/* check_quotas: limits, less what all clusters use. */
#include "core/domain/cluster/cluster_in.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/offer/cached.h"
#include "core/domain/offer/usage.h"
#include "core/domain/page.h"
#include "core/json/tree.h"

enum { QUOTAS_AGE_S = 3600 };

struct check_quotas {
	const char *instance_type;
	int64_t count;
	const char *capacity_type;
};

static const char *const quota_types[] = {"on_demand", "spot", NULL};

static const struct field quotas_in[] = {
	FIELD(struct check_quotas, instance_type, .flags = FIELD_REQUIRED,
	      .pattern = "ml\\.[a-z0-9-]+\\.[a-z0-9]+", .meant = meant_instance_type,
	      .example = "\"ml.g5.12xlarge\"",
	      .doc = "Instance type, with its ml. prefix."),
	FIELD(struct check_quotas, count, .min = 1, .max = 10000, .dflt = "1",
	      .doc = "Nodes wanted."),
	FIELD(struct check_quotas, capacity_type, .one_of = quota_types,
	      .dflt = "\"on_demand\"", .doc = "Kind of capacity."),
	FIELD_END};

static const struct field quota_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name in Service Quotas."),
	OUT("code", FIELD_STR, .doc = "Its code."),
	OUT("limit", FIELD_NUM, .flags = FIELD_REQUIRED, .doc = "What it allows."),
	OUT("used", FIELD_INT, .doc = "What all clusters have of it, there or coming."),
	OUT("left", FIELD_NUM, .doc = "What that leaves."),
	OUT("needed", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "What is asked for."),
	OUT("fits", FIELD_BOOL, .flags = FIELD_REQUIRED, .doc = "It is enough."),
	FIELD_END};

static const struct field quotas_out[] = {
	OUT("fits", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "All of them are enough."),
	{.name = "items",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = quota_out,
	 .doc = "Quotas that bear on the request."},
	OUT("uncounted", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Clusters whose nodes could not be counted: there may be less left."),
	OUT("unreadable", FIELD_STRS, .flags = FIELD_REQUIRED,
	    .doc = "Quotas that the account does not show: not judged."),
	OUT("observed_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "When the cloud said so."),
	FIELD_END};

struct judging {
	const struct check_quotas *in;
	const json_t *quotas;
	const struct usage *usage;
	json_t *items, *unreadable;
	bool fits;
};

/* Adds the quota of that name, or notes that it cannot be read. used < 0: it is a
 * limit of its own for each cluster, or nobody knows. */
static void judge(struct judging *j, const char *name, int64_t used)
{
	const json_t *q = json_find(j->quotas, "QuotaName", name);
	const double limit = json_num_or(q, "Value", 0);
	const bool fits = limit - (double)(used > 0 ? used : 0) >= (double)j->in->count;
	json_t *row;

	if (!q) {
		json_push(j->unreadable, json_string(name));
		return;
	}
	row = json_pack("{s:s, s:s*, s:f, s:I, s:b}", "name", name, "code",
			json_str_at(q, "QuotaCode"), "limit", limit, "needed",
			(json_int_t)j->in->count, "fits", fits);
	if (used >= 0)
		usage_put(row, limit, used);
	json_push(j->items, row);
	j->fits = j->fits && fits;
}

static void judge_all(struct call *c, struct judging *j)
{
	const bool known = usage_is_known(j->usage);
	const bool spot = streq(j->in->capacity_type, "spot");

	judge(j, quota_name(c->arena, j->in->instance_type, j->in->capacity_type),
	      known ? usage_of(j->usage, j->in->instance_type, spot) : -1);
	judge(j, "Maximum number instances allowed per SageMaker HyperPod cluster", -1);
	judge(j, "Total number of instances allowed across SageMaker HyperPod clusters",
	      known ? usage_of_all(j->usage) : -1);
}

static bool run_quotas(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	struct usage usage;
	struct judging j = {.in = in,
			    .usage = &usage,
			    .items = json_new_list(c->arena),
			    .unreadable = json_new_list(c->arena),
			    .fits = true};
	json_t *out;
	int64_t at_ms;
	char at[TIME_TEXT];

	if (!cached_read(c, AWS_QUOTAS_ListServiceQuotas,
			 json_packf(c->arena, "{s:s, s:i}", "ServiceCode", "sagemaker",
				    "MaxResults", 100),
			 QUOTAS_AGE_S, &out, &at_ms, e))
		return false;
	j.quotas = json_at(out, "Quotas");
	usage_read(c, &usage);
	judge_all(c, &j);
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:b, s:O, s:I, s:O, s:s}", "fits", j.fits,
			      "items", j.items, "uncounted", (json_int_t)usage.uncounted,
			      "unreadable", j.unreadable, "observed_at",
			      time_rfc3339(at_ms, at)));
	return true;
}

extern const struct capability cap_check_quotas;
const struct capability cap_check_quotas = {
	.name = "check_quotas",
	.method = "GET",
	.path = "/quotas",
	.title = "Check quotas",
	.doc = "Whether the account's HyperPod quotas leave room for so many nodes of a type: "
	       "limits, less what all clusters use.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD,
	.in = quotas_in,
	.in_size = sizeof(struct check_quotas),
	.out = quotas_out,
	.run = run_quotas,
};
