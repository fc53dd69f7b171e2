/*
 * cloud_rights_world.h - a world whose caller is bound by a policy, and requests in it
 * that are planned.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_RIGHTS_WORLD_H
#define INSTANTSTART_TESTS_CLOUD_RIGHTS_WORLD_H

#include "core/aws/policy.h"
#include "core/aws/rights.h"
#include "core/op/rights.h"
#include "tests/unit/cloud_features_world.h"

static const char key[] = "AKIALABEXAMPLE";

#define NODES                                                                            \
	"'zone':'us-west-2a','instance_type':'ml.g5.12xlarge','count':1,"                \
	"'capacity_type':'on_demand','group_name':'more','volume_size_gb':500"
#define POD "'hyperpod_name':'pod'"

/* nothing: AWS is asked for looks alone. Without input: all that the kind changes are
 * objects of Kubernetes. */
struct scene {
	const char *kind, *target, *input;
	bool nothing;
};

static struct rights_memo memo;
/* Of one scene, and of one trial of it. */
static struct arena scene_arena, trial;

static json_t *tree(const char *text)
{
	char *z = arena_strdup(&scene_arena, text);
	struct err e;
	json_t *t;

	for (char *p = z; *p; p++)
		if (*p == '\'')
			*p = '"';
	t = json_parse(&scene_arena, str_of(z), &e);
	cr_assert_not_null(t, "%s", text);
	return t;
}

static json_t *input_of(const struct scene *s)
{
	json_t *in = tree(s->input), *nodes = json_object_get(in, "nodes"), *node;
	const char *id;

	if (nodes)
		json_object_foreach(cloud_table(w.s.l.cloud, "sagemaker.node"), id, node)
			json_push(nodes,
				  json_string(json_str_or(node, "InstanceId", "")));
	return in;
}

/* The world is made by a caller who may do everything. */
static void world_up(void)
{
	arena_init(&scene_arena, 0);
	arena_init(&trial, 0);
	world_build(&w);
	w.o.cfg.kubernetes_oldest = "1.28";
	w.o.cfg.kube_image = "public.ecr.aws/docker/library/busybox:1.37";
	w.o.r.rights = &memo;
	lab_call(&w.s.l, "iam", "CreateRole",
		 "{s:s,s:s,s:[{s:s,s:s},{s:s,s:s},{s:s,s:s}]}", "RoleName",
		 "is-demo-s3-csi-us-west-2", "AssumeRolePolicyDocument", trust, "Tags",
		 "Key", "instantstart:cluster", "Value", "demo", "Key",
		 "instantstart:installation", "Value", "here", "Key",
		 "instantstart:operation", "Value", "op_0");
	lab_call(&w.s.l, "iam", "PutRolePolicy", "{s:s,s:s,s:s}", "RoleName",
		 "is-demo-s3-csi-us-west-2", "PolicyName", "storage-default-old",
		 "PolicyDocument",
		 "{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"s3:*\","
		 "\"Resource\":\"*\"}]}");
	lab_call(&w.s.l, "s3", "CreateBucket", "{s:s,s:{s:s}}", "Bucket",
		 "sagemaker-instantstart-111122223333-us-west-2",
		 "CreateBucketConfiguration", "LocationConstraint", "us-west-2");
}

static void world_down(void)
{
	world_free(&w);
	arena_free(&scene_arena);
	arena_free(&trial);
}

/* The caller's policy: the one that we print, without that action. NULL: with all. */
static void bind(const char *without)
{
	json_t *policy = aws_policy(&trial), *s;
	size_t i;

	json_array_foreach(json_at(policy, "Statement"), i, s) {
		json_t *actions = json_object_get(s, "Action");

		for (size_t k = json_array_size(actions); k-- > 0;)
			if (streq(json_string_value(json_array_get(actions, k)), without))
				json_array_remove(actions, k);
	}
	memset(&memo, 0, sizeof(memo));
	cloud_configure(w.s.l.cloud, json_packf(&trial, "{s:{s:n}}", "policies", key));
	cloud_configure(w.s.l.cloud,
			json_packf(&trial, "{s:{s:O}}", "policies", key, policy));
}

static bool plan(const struct scene *s, json_t **ret_plan, struct err *e)
{
	return runner_plan(&w.o.r, &scene_arena, kind_find(kinds, s->kind), s->target,
			   input_of(s), ret_plan, e);
}

#endif
