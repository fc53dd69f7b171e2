/* Service Quotas. https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/ */
#include "tests/cloud/quotas.h"

#include <stdio.h>
#include <string.h>

#include "tests/cloud/core.h"
#include "tests/cloud/ec2.h"

struct quota {
	const char *service, *code, *name;
	double dflt;
	bool applied; /* ListServiceQuotas leaves out what has no applied value */
};

static const struct quota quota_row[] = {
	{"vpc", "L-F678F1CE", "VPCs per Region", 5, true},
	{"vpc", "L-A4707A72", "Internet gateways per Region", 5, true},
	{"vpc", "L-FE5A380F", "NAT gateways per Availability Zone", 5, true},
	{"vpc", "L-DF5E4CA3", "Network interfaces per Region", 5000, true},
	{"vpc", "L-407747CB", "Subnets per VPC", 200, true},
	{"ec2", "L-0263D0A3", "EC2-VPC Elastic IPs", 5, true},
	{"ec2", "L-417A185B", "Running On-Demand P instances", 0, true},
	{"ec2", "L-DB2E81BA", "Running On-Demand G and VT instances", 0, true},
	{"ec2", "L-1216C47A",
	 "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 5, true},
	{"eks", "L-1194F6F1", "Clusters", 100, true},
	{"eks", "L-6D54EA21", "Managed node groups per cluster", 30, true},
	{"iam", "L-FE177D64", "Roles per account", 1000, true},
	{"s3", "L-DC2B2D3D", "General purpose buckets", 10000, true},
	{"fsx", "L-CB9B5A57", "Lustre Persistent_2 file systems", 100, true},
	{"sagemaker", "L-2CE978FC",
	 "Maximum number instances allowed per SageMaker HyperPod cluster", 20, true},
	{"sagemaker", "L-3308CCC7",
	 "Total number of instances allowed across SageMaker HyperPod clusters", 30,
	 true},
	{"sagemaker", "L-97A2C724",
	 "Total number of Spot instances allowed across SageMaker HyperPod clusters", 0,
	 true},
	{"sagemaker", "L-E13DF72A",
	 "Maximum size of EBS volume in GB for a SageMaker HyperPod cluster instance",
	 1024, true},
	{"sagemaker", "L-FC4D7F52",
	 "Maximum total FSx Lustre capacity in TiB across HyperPod restricted instance "
	 "groups",
	 0, false},
	{"sagemaker", "L-867702E6", "Number of training plans per Region", 25, true},
	{"sagemaker", "L-9EF527CA",
	 "Number of ml.p5.48xlarge instances in reserved capacity across training plans per "
	 "Region",
	 8, true},
};

enum { QUOTAS = sizeof(quota_row) / sizeof(*quota_row), PAGE = 100 };

/* Codes of "ml.<type> for cluster usage" as accounts show them. */
static const struct {
	const char *type, *code;
} usage_row[] = {
	{"p4d.24xlarge", "L-47E0BC8F"},     {"p4de.24xlarge", "L-BEF3120E"},
	{"p5.48xlarge", "L-8762A75F"},      {"p5e.48xlarge", "L-FD431820"},
	{"p5en.48xlarge", "L-6EF3AE05"},    {"p6-b200.48xlarge", "L-44097F05"},
	{"p6-b300.48xlarge", "L-9883FE68"}, {"p6e-gb200.36xlarge", "L-5DB70460"},
	{"g6e.12xlarge", "L-A15DF696"},     {"g6e.48xlarge", "L-177AF1AD"},
	{"g6.4xlarge", "L-1474CE56"},       {"m5.16xlarge", "L-048C491E"},
	{"c5.12xlarge", "L-15BCD638"},      {"m6i.xlarge", "L-03FD2ADF"},
	{"m7i.12xlarge", "L-064E954E"},     {"c6i.12xlarge", "L-06DD0DBC"},
	{"r7i.2xlarge", "L-0BE2F5A1"},      {"i3en.2xlarge", "L-0D57F08E"},
};

/* Types without a published code get one that is theirs for ever. */
static const char *made_code(const char *type, const char *salt, char buf[16])
{
	uint32_t h = 2166136261u;

	for (const char *p = salt; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	for (const char *p = type; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	snprintf(buf, 16, "L-%08X", h);
	return buf;
}

static const char *usage_code(const char *type, char buf[16])
{
	for (size_t i = 0; i < sizeof(usage_row) / sizeof(*usage_row); i++)
		if (streq(usage_row[i].type, type))
			return usage_row[i].code;
	return made_code(type, "usage", buf);
}

static const char *spot_code(const char *type, char buf[16])
{
	return streq(type, "p5.48xlarge") ? "L-F742E2D7" : made_code(type, "spot", buf);
}

/* A fresh account may use small CPU types and no accelerators. */
static double usage_default(const struct ec2_type *t)
{
	return t->gpu || t->neuron ? 0 : t->vcpus <= 16 ? 20 : 10;
}

static double applied(struct cloud *c, const char *code, double dflt)
{
	json_t *own = json_object_get(json_object_get(cloud_settings(c), "quota"), code);

	return json_is_number(own) ? json_number_value(own) : dflt;
}

double quota_value(struct cloud *c, const char *service_code, const char *quota_code)
{
	for (size_t i = 0; i < QUOTAS; i++)
		if (streq(quota_row[i].service, service_code) &&
		    streq(quota_row[i].code, quota_code))
			return applied(c, quota_code, quota_row[i].dflt);
	return applied(c, quota_code, 0);
}

double quota_cluster_usage(struct cloud *c, const char *instance_type)
{
	const struct ec2_type *t = ec2_type_find(instance_type);
	char buf[16];

	return t ? applied(c, usage_code(t->name, buf), usage_default(t)) : 0;
}

double quota_cluster_spot(struct cloud *c, const char *instance_type)
{
	const struct ec2_type *t = ec2_type_find(instance_type);
	char buf[16];

	return t ? applied(c, spot_code(t->name, buf), 0) : 0;
}

/* --- the service ----------------------------------------------------------------- */

static json_t *describe(struct cloud_call *call, const char *service, const char *code,
			const char *name, double value)
{
	return json_packf(call->arena, "{s:s, s:s, s:s, s:s, s:s, s:f, s:s, s:b, s:b}",
			  "ServiceCode", service, "ServiceName",
			  streq(service, "sagemaker") ? "Amazon SageMaker" : service,
			  "QuotaArn",
			  cloud_arn(call->cloud, call->arena, "servicequotas",
				    arena_printf(call->arena, "%s/%s", service, code)),
			  "QuotaCode", code, "QuotaName", name, "Value", value, "Unit",
			  "None", "Adjustable", 1, "GlobalQuota", streq(service, "iam"));
}

static void add_types(struct cloud_call *call, bool defaults, json_t *ret)
{
	char buf[16];

	for (const struct ec2_type *t = ec2_types; t->name; t++) {
		double dflt = usage_default(t);
		const char *code = usage_code(t->name, buf);

		json_array_append(
			ret,
			describe(call, "sagemaker", code,
				 arena_printf(call->arena, "ml.%s for cluster usage",
					      t->name),
				 defaults ? dflt : applied(call->cloud, code, dflt)));
		code = spot_code(t->name, buf);
		json_array_append(
			ret,
			describe(call, "sagemaker", code,
				 arena_printf(call->arena,
					      "ml.%s for cluster spot instance usage",
					      t->name),
				 defaults ? 0 : applied(call->cloud, code, 0)));
	}
}

static bool collect(struct cloud_call *call, bool defaults, json_t *ret)
{
	const char *service = json_str_at(call->in, "ServiceCode");
	bool known = false;

	for (size_t i = 0; i < QUOTAS; i++) {
		const struct quota *q = &quota_row[i];
		bool set = json_object_get(
			json_object_get(cloud_settings(call->cloud), "quota"), q->code);

		if (!streq(q->service, service))
			continue;
		known = true;
		if (!defaults && !q->applied && !set)
			continue;
		json_array_append(
			ret, describe(call, service, q->code, q->name,
				      defaults ? q->dflt
					       : applied(call->cloud, q->code, q->dflt)));
	}
	if (!known)
		return cloud_fault(
			call, "NoSuchResourceException",
			"The request failed because the specified service does "
			"not exist.");
	if (streq(service, "sagemaker"))
		add_types(call, defaults, ret);
	return true;
}

static bool answer_page(struct cloud_call *call, json_t *list, const char *member,
			json_t **ret_out)
{
	const char *next;
	json_t *page = cloud_page(call, list, json_str_at(call->in, "NextToken"),
				  json_int_or(call->in, "MaxResults", PAGE), &next);

	if (!page)
		return cloud_fault(call, "InvalidPaginationTokenException",
				   "Invalid pagination token.");
	*ret_out =
		json_packf(call->arena, "{s:O, s:s*}", member, page, "NextToken", next);
	return true;
}

static bool list(struct cloud_call *call, bool defaults, json_t **ret_out)
{
	json_t *all = json_new_list(call->arena), *some = json_new_list(call->arena),
	       *one;
	const char *code = json_str_at(call->in, "QuotaCode");
	size_t i;

	if (!collect(call, defaults, all))
		return false;
	json_array_foreach(all, i, one)
		if (!code || streq(json_str_at(one, "QuotaCode"), code))
			json_array_append(some, one);
	return answer_page(call, some, "Quotas", ret_out);
}

static bool get(struct cloud_call *call, bool defaults, json_t **ret_out)
{
	json_t *all = json_new_list(call->arena), *one;

	if (!collect(call, defaults, all))
		return false;
	one = json_find(all, "QuotaCode", json_str_at(call->in, "QuotaCode"));
	if (!one)
		return cloud_fault(
			call, "NoSuchResourceException",
			"The request failed because the specified quota does not "
			"exist.");
	*ret_out = json_packf(call->arena, "{s:O}", "Quota", one);
	return true;
}

static bool list_service_quotas(struct cloud_call *call, json_t **ret_out)
{
	return list(call, false, ret_out);
}

static bool list_defaults(struct cloud_call *call, json_t **ret_out)
{
	return list(call, true, ret_out);
}

static bool get_service_quota(struct cloud_call *call, json_t **ret_out)
{
	return get(call, false, ret_out);
}

static bool get_default(struct cloud_call *call, json_t **ret_out)
{
	return get(call, true, ret_out);
}

static bool list_services(struct cloud_call *call, json_t **ret_out)
{
	json_t *services = json_new_list(call->arena);

	for (size_t i = 0; i < QUOTAS; i++)
		if (!json_find(services, "ServiceCode", quota_row[i].service))
			json_array_append_new(
				services, json_pack("{s:s, s:s}", "ServiceCode",
						    quota_row[i].service, "ServiceName",
						    quota_row[i].service));
	return answer_page(call, services, "Services", ret_out);
}

static bool is_open(const json_t *r)
{
	return streq(json_str_at(r, "Status"), "PENDING") ||
	       streq(json_str_at(r, "Status"), "CASE_OPENED");
}

static bool request_increase(struct cloud_call *call, json_t **ret_out)
{
	const char *code = json_str_at(call->in, "QuotaCode"), *id;
	double want = json_num_or(call->in, "DesiredValue", 0);
	json_t *now, *r;

	if (!get(call, false, &now))
		return false;
	const json_t *quota = json_object_get(now, "Quota");

	json_object_foreach(cloud_table(call->cloud, "quotas.request"), id, r)
		if (streq(json_str_at(r, "QuotaCode"), code) && is_open(r))
			return cloud_fault(
				call, "ResourceAlreadyExistsException",
				"Only one open service quota increase request is "
				"allowed per quota.");
	if (want <= json_num_or(quota, "Value", 0))
		return cloud_fault(
			call, "IllegalArgumentException",
			"You must provide a quota value greater than the current "
			"quota value");
	id = cloud_id(call->cloud, call->arena, "", 36);
	r = json_own(call->arena, json_copy((json_t *)(uintptr_t)quota));
	json_object_del(r, "Value");
	json_object_del(r, "Adjustable");
	json_put_str(r, "Id", id);
	json_object_set_new(r, "DesiredValue", json_real(want));
	json_put_str(r, "Status", "PENDING");
	json_object_set_new(r, "Created", cloud_seconds(call->now_ms));
	json_object_set_new(r, "LastUpdated", cloud_seconds(call->now_ms));
	cloud_put(call->cloud, "quotas.request", id, json_deep_copy(r));
	cloud_effect(call->cloud, "quotas.request", id, "create");
	*ret_out = json_packf(call->arena, "{s:O}", "RequestedQuota", r);
	return true;
}

static bool get_request(struct cloud_call *call, json_t **ret_out)
{
	json_t *r = cloud_get(call->cloud, "quotas.request",
			      json_str_at(call->in, "RequestId"));

	if (!r)
		return cloud_fault(
			call, "NoSuchResourceException",
			"The request failed because the specified request does "
			"not exist.");
	*ret_out = json_packf(call->arena, "{s:O}", "RequestedQuota", r);
	return true;
}

static bool list_requests(struct cloud_call *call, json_t **ret_out)
{
	const char *code = json_str_at(call->in, "QuotaCode"), *id;
	json_t *rows = json_new_list(call->arena), *r;

	json_object_foreach(cloud_table(call->cloud, "quotas.request"), id, r)
		if (streq(json_str_at(r, "QuotaCode"), code))
			json_array_append(rows, r);
	return answer_page(call, rows, "RequestedQuotas", ret_out);
}

static const struct cloud_op ops[] = {
	{"ListServiceQuotas", false, list_service_quotas},
	{"ListAWSDefaultServiceQuotas", false, list_defaults},
	{"GetServiceQuota", false, get_service_quota},
	{"GetAWSDefaultServiceQuota", false, get_default},
	{"ListServices", false, list_services},
	{"RequestServiceQuotaIncrease", true, request_increase},
	{"GetRequestedServiceQuotaChange", false, get_request},
	{"ListRequestedServiceQuotaChangeHistoryByQuota", false, list_requests},
	{NULL, false, NULL},
};

const struct cloud_service cloud_service_quotas = {"service-quotas", ops, NULL};
