/* check_quotas: limits, less what all clusters use. */
#include "core/domain/offer/cached.h"
#include "core/domain/offer/instance_types.h"
#include "core/domain/offer/quota_name.h"
#include "core/domain/offer/usage.h"
#include "core/domain/page.h"
#include "core/domain/site/cluster_in.h"
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
	      .doc = "Number of nodes."),
	FIELD(struct check_quotas, capacity_type, .one_of = quota_types,
	      .dflt = "\"on_demand\"", .doc = "Capacity type."),
	FIELD_END};

static const struct field quota_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name in Service Quotas."),
	OUT("code", FIELD_STR, .doc = "Quota code."),
	OUT("limit", FIELD_NUM, .doc = "Quota value. Absent if it could not be read."),
	OUT("used", FIELD_INT,
	    .doc = "Usage of all clusters, including nodes that are starting."),
	OUT("left", FIELD_NUM, .doc = "Remaining quota."),
	OUT("needed", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "Number requested."),
	OUT("fits", FIELD_BOOL, .flags = FIELD_REQUIRED | FIELD_NULLABLE,
	    .doc = "Whether the remaining quota is enough. Null if unknown: see why."),
	OUT("why", FIELD_STR, .doc = "Why it is unknown."),
	FIELD_END};

static const struct field quotas_out[] = {
	OUT("fits", FIELD_BOOL, .flags = FIELD_REQUIRED | FIELD_NULLABLE,
	    .doc = "true if all quotas are enough, false if one is not, null if "
		   "unknown."),
	OUT("why", FIELD_STR, .doc = "Why it is unknown."),
	{.name = "items",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = quota_out,
	 .doc = "Quotas that apply to the request."},
	OUT("uncounted", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Clusters whose nodes could not be counted. Less quota may remain."),
	OUT("unreadable", FIELD_STRS, .flags = FIELD_REQUIRED,
	    .doc = "Quotas that the account does not show. They were not checked."),
	OUT("observed_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Time of the observation."),
	FIELD_END};

/* In the order of what may be said of several: one "no" outweighs all. */
enum verdict_word { FITS, NOT_KNOWN, DOES_NOT };

struct judging {
	const struct check_quotas *in;
	const json_t *quotas;
	const struct usage *usage;
	json_t *items, *unreadable;
	enum verdict_word all;
	const char *why; /* of the first that is not known */
};

static json_t *verdict_tree(enum verdict_word v)
{
	return v == NOT_KNOWN ? json_null() : json_boolean(v == FITS);
}

/* Which quota it is; `used` < 0: a limit of its own for each cluster, so that what
 * others have does not matter. */
struct bearing {
	const char *name;
	int64_t used;
	bool counted; /* it depends on what all clusters use, and all were counted */
};

/* What is used is a least where clusters could not be counted: a "no" holds, a "yes"
 * does not. */
static enum verdict_word judge_room(const struct judging *j, const struct bearing *b,
				    const json_t *quota, const char **ret_why)
{
	const double limit = json_num_or(quota, "Value", 0);
	const double left = limit - (double)(b->used > 0 ? b->used : 0);

	*ret_why = NULL;
	if (!quota) {
		*ret_why = "the account does not show this quota";
		return NOT_KNOWN;
	}
	if (left < (double)j->in->count)
		return DOES_NOT;
	if (b->counted)
		return FITS;
	*ret_why = "not all clusters could be counted";
	return NOT_KNOWN;
}

static void judge(struct judging *j, const struct bearing *b)
{
	const json_t *q = json_find(j->quotas, "QuotaName", b->name);
	const char *why;
	const enum verdict_word v = judge_room(j, b, q, &why);
	json_t *row =
		json_pack("{s:s, s:s*, s:I, s:o, s:s*}", "name", b->name, "code",
			  json_str_at(q, "QuotaCode"), "needed", (json_int_t)j->in->count,
			  "fits", verdict_tree(v), "why", why);

	if (q)
		json_put(row, "limit", json_real(json_num_or(q, "Value", 0)));
	else
		json_push(j->unreadable, json_string(b->name));
	if (q && b->used >= 0)
		usage_put(row, json_num_or(q, "Value", 0), b->used);
	json_push(j->items, row);
	if (v == NOT_KNOWN && !j->why)
		j->why = why;
	j->all = v > j->all ? v : j->all;
}

static void judge_all(struct call *c, struct judging *j)
{
	const struct usage *u = j->usage;
	const bool all = usage_is_known(u) && u->uncounted == 0;
	const bool spot = streq(j->in->capacity_type, "spot");
	const struct bearing of[] = {
		{quota_name(c->arena, j->in->instance_type, j->in->capacity_type),
		 usage_is_known(u) ? usage_of(u, j->in->instance_type, spot) : -1, all},
		{"Maximum number instances allowed per SageMaker HyperPod cluster", -1,
		 true},
		{"Total number of instances allowed across SageMaker HyperPod clusters",
		 usage_is_known(u) ? usage_of_all(u) : -1, all},
	};

	if (!instance_type_is_known(j->in->instance_type)) {
		j->all = NOT_KNOWN;
		j->why = arena_printf(
			c->arena,
			"%s is not an instance type of HyperPod that this version knows. "
			"Similar types: %s",
			j->in->instance_type,
			instance_type_nearest(c->arena, j->in->instance_type));
	}
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		judge(j, &of[i]);
}

static bool run_quotas(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	struct usage usage;
	struct judging j = {.in = in,
			    .usage = &usage,
			    .items = json_new_list(c->arena),
			    .unreadable = json_new_list(c->arena),
			    .all = FITS};
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
		   json_packf(c->arena, "{s:o, s:s*, s:O, s:I, s:O, s:s}", "fits",
			      verdict_tree(j.all), "why",
			      j.all == NOT_KNOWN ? j.why : NULL, "items", j.items,
			      "uncounted", (json_int_t)usage.uncounted, "unreadable",
			      j.unreadable, "observed_at", time_rfc3339(at_ms, at)));
	return true;
}

extern const struct capability cap_check_quotas;
const struct capability cap_check_quotas = {
	.name = "check_quotas",
	.method = "GET",
	.path = "/quotas",
	.title = "Check quotas",
	.doc = "Checks whether the HyperPod quotas of the account allow more nodes of an "
	       "instance type, given the usage of all clusters.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD,
	.in = quotas_in,
	.in_size = sizeof(struct check_quotas),
	.out = quotas_out,
	.run = run_quotas,
};
