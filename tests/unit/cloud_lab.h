/* cloud_lab.h - a simulated cloud on a clock that the test moves by hand. */
#ifndef INSTANTSTART_TESTS_UNIT_CLOUD_LAB_H
#define INSTANTSTART_TESTS_UNIT_CLOUD_LAB_H

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/aws/partition.h"
#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloud.h"

enum { LAB_STEP_MS = 5000 };

struct lab {
	struct clock_manual clock;
	struct arena arena;
	struct cloud *cloud;
	const char *code, *message; /* of the last refused call */
};

/* The build's file of API models: beside the programs, a folder or two up. */
static inline const char *lab_models(struct arena *a)
{
	char self[512] = "";
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *path = NULL;

	for (int up = 0; n > 0 && up < 5; up++) {
		char *slash = strrchr(self, '/');

		if (!slash)
			break;
		*slash = '\0';
		path = arena_printf(a, "%s/cloud-models.json", self);
		if (access(path, R_OK) == 0)
			return path;
	}
	return "cloud-models.json";
}

static inline struct cloud *lab_start_in(struct lab *l, const char *region)
{
	arena_init(&l->arena, 1 << 28);
	clock_manual_init(&l->clock, 1767323045000);

	struct cloud_options o = {
		.clock = &l->clock.clock,
		.seed = 7,
		.account = "111122223333",
		.region = region,
		.models = lab_models(&l->arena),
		.access_key = "AKIALABEXAMPLE",
		.secret_key = "a-secret-of-the-lab",
		.caller_arn =
			arena_printf(&l->arena, "arn:%s:iam::111122223333:user/operator",
				     aws_partition_of(region)->id),
		.kube_base_url = "https://127.0.0.1:4567",
		.kube_ca_pem = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
	};

	l->cloud = cloud_new(&o);
	cr_assert_not_null(l->cloud, "no models in %s", o.models);
	return l->cloud;
}

static inline struct cloud *lab_start(struct lab *l)
{
	return lab_start_in(l, "us-west-2");
}

static inline void lab_stop(struct lab *l)
{
	cloud_free(l->cloud);
	arena_free(&l->arena);
}

static inline bool lab_has(const char *text, const char *part)
{
	return text && strstr(text, part);
}

/* NULL when refused: l->code says how. The input is json_pack's. */
static inline json_t *lab_try(struct lab *l, const char *service, const char *op,
			      const char *fmt, ...)
{
	va_list ap;
	json_t *in, *out = NULL;

	va_start(ap, fmt);
	in = json_vpack_ex(NULL, 0, fmt, ap);
	va_end(ap);
	cr_assert_not_null(in, "input of %s %s", service, op);
	json_own(&l->arena, in);
	if (!cloud_invoke(l->cloud, &l->arena, service, op, in, NULL, &out, &l->code,
			  &l->message))
		return NULL;
	return out;
}

/* Must succeed. */
#define lab_call(l, service, op, ...)                                                    \
	lab_must(l, service, op, lab_try(l, service, op, __VA_ARGS__))
static inline json_t *lab_must(struct lab *l, const char *service, const char *op,
			       json_t *out)
{
	cr_assert_not_null(out, "%s %s: %s: %s", service, op, l->code, l->message);
	return out;
}

static inline void lab_wait(struct lab *l, int64_t ms)
{
	for (int64_t at = 0; at < ms; at += LAB_STEP_MS) {
		clock_manual_advance(&l->clock, LAB_STEP_MS);
		cloud_advance(l->cloud);
	}
}

/* Asks again and again until the answer at `path` is `want`; minutes at most. */
static inline json_t *lab_until(struct lab *l, const char *service, const char *op,
				json_t *in, const char *path, const char *want,
				int minutes)
{
	json_t *out = NULL;
	const char *seen = NULL;

	json_own(&l->arena, in);
	for (int64_t at = 0; at < (int64_t)minutes * 60000; at += LAB_STEP_MS) {
		if (!cloud_invoke(l->cloud, &l->arena, service, op, in, NULL, &out,
				  &l->code, &l->message))
			seen = l->code;
		else
			seen = json_str_at(out, path);
		if (streq(seen, want))
			return out;
		lab_wait(l, LAB_STEP_MS);
	}
	cr_assert(false, "%s %s: %s is %s after %d minutes, not %s", service, op, path,
		  seen ? seen : "absent", minutes, want);
	return NULL;
}

static inline const char *lab_file(struct lab *l, const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = arena_alloc(&l->arena, 256 * 1024);

	cr_assert_not_null(f, "%s", path);
	text[fread(text, 1, 256 * 1024 - 1, f)] = '\0';
	fclose(f);
	return text;
}

static inline json_t *lab_param(const char *key, const char *value)
{
	return json_pack("{s:s,s:s}", "ParameterKey", key, "ParameterValue", value);
}

/* CreateStack's input for the product's template. */
static inline json_t *lab_stack_input(struct lab *l, const char *name)
{
	json_t *params = json_array();

	json_array_append_new(params, lab_param("ClusterName", name));
	json_array_append_new(params, lab_param("KubernetesVersion", "1.34"));
	json_array_append_new(params, lab_param("AvailabilityZone1", "us-west-2a"));
	json_array_append_new(params, lab_param("AvailabilityZone2", "us-west-2b"));
	json_array_append_new(params, lab_param("VpcCidr", "10.90.0.0/16"));
	json_array_append_new(params, lab_param("PublicSubnet1Cidr", "10.90.0.0/24"));
	json_array_append_new(params, lab_param("PublicSubnet2Cidr", "10.90.1.0/24"));
	json_array_append_new(params, lab_param("PrivateSubnet1Cidr", "10.90.2.0/28"));
	json_array_append_new(params, lab_param("PrivateSubnet2Cidr", "10.90.2.16/28"));
	return json_pack(
		"{s:s,s:s,s:o,s:[s],s:[{s:s,s:s}],s:s}", "StackName", name,
		"TemplateBody", lab_file(l, "cloudformation/eks-control-plane.yaml"),
		"Parameters", params, "Capabilities", "CAPABILITY_IAM", "Tags", "Key",
		"instantstart:cluster", "Value", name, "ClientRequestToken", "token-1");
}

static inline const char *lab_output(const json_t *stacks, const char *key)
{
	return json_str_or(
		json_find(json_at(stacks, "Stacks.0.Outputs"), "OutputKey", key),
		"OutputValue", "");
}

/* The stack, in place; DescribeStacks' answer. */
static inline json_t *lab_stack(struct lab *l, const char *name)
{
	json_t *out = NULL;
	json_t *in = json_own(&l->arena, lab_stack_input(l, name));

	cr_assert(cloud_invoke(l->cloud, &l->arena, "cloudformation", "CreateStack", in,
			       NULL, &out, &l->code, &l->message),
		  "%s: %s", l->code, l->message);
	return lab_until(l, "cloudformation", "DescribeStacks",
			 json_pack("{s:s}", "StackName", name), "Stacks.0.StackStatus",
			 "CREATE_COMPLETE", 30);
}

static inline size_t lab_rows(struct lab *l, const char *table)
{
	return json_object_size(cloud_table(l->cloud, table));
}

#endif
