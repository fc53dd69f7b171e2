/*
 * What we are not allowed is known before anything is made: every kind of operation,
 * each right that its calls need, on the simulated cloud, which asks for rights by a
 * table of its own. Neither table can lack what the other has.
 */
#include "tests/unit/cloud_rights_world.h"

static const char us[] = "arn:aws:iam::111122223333:user/operator";

/* One for each kind. */
static const struct scene scenes[] = {
	{"create_cluster", "fresh", "{'kubernetes_version':'1.33'," NODES "}", false},
	{"create_eks_control_plane", "fresh", "{'kubernetes_version':'1.33'}", false},
	{"create_eks_control_plane", "guest",
	 "{'kubernetes_version':'1.33','manager_arn':'arn:aws:iam::111122223333:role/boss',"
	 "'permissions_boundary':'arn:aws:iam::aws:policy/AmazonEC2FullAccess'}",
	 false},
	{"import_cluster", "other", "{'eks_name':'demo'," POD "}", true},
	{"reconcile_dependencies", "demo", "{}", false},
	{"create_hyperpod_cluster", "demo", "{'hyperpod_name':'second'," NODES "}",
	 false},
	{"remove_hyperpod_cluster", "demo", "{" POD "}", false},
	{"update_features", "demo",
	 "{" POD ",'training_operator':{'enabled':true},'inference_operator':"
	 "{'enabled':true},'tiered_checkpointing':{'enabled':true}}",
	 false},
	{"set_training_operator", "demo",
	 "{" POD ",'feature':'training_operator','enabled':true}", false},
	{"set_inference_operator", "demo",
	 "{" POD ",'feature':'inference_operator','enabled':true}", false},
	{"set_tiered_checkpointing", "demo",
	 "{" POD ",'feature':'tiered_checkpointing','enabled':true}", false},
	{"add_instance_group", "demo", "{" POD "," NODES "}", false},
	{"scale_instance_group", "demo", "{" POD ",'group_name':'gpu','count':3}", false},
	{"scale_instance_group", "demo", "{" POD ",'group_name':'gpu','count':1}", false},
	{"update_instance_group", "demo",
	 "{" POD ",'group_name':'gpu','labels':{'team':'red'}}", false},
	{"delete_instance_group", "demo", "{" POD ",'group_name':'gpu'}", false},
	{"update_cluster_software", "demo", "{" POD ",'groups':['gpu']}", false},
	{"create_s3_storage", "demo",
	 "{'name':'data','namespace':'default','uid':-1,'gid':-1}", false},
	{"delete_storage", "demo", "{'name':'old','namespace':'default'}", false},
	{"delete_cluster", "demo", "{" POD "}", false},
	{"set_autoscaling", "demo", "{" POD ",'feature':'autoscaling','enabled':true}",
	 false},
	{"create_node_class", "demo", NULL, true},
	{"delete_node_class", "demo", NULL, true},
	{"create_node_pool", "demo", NULL, true},
	{"delete_node_pool", "demo", NULL, true},
	{"reboot_nodes", "demo", "{" POD ",'nodes':[]}", false},
	{"replace_nodes", "demo", "{" POD ",'nodes':[]}", false},
	{"delete_nodes", "demo", "{" POD ",'nodes':[]}", false},
};
enum { SCENES = sizeof(scenes) / sizeof(scenes[0]) };

static json_t *needs_of(const struct scene *s)
{
	struct err e = {0};
	json_t *needs = NULL;
	bool ok = runner_rights(&w.o.r, &scene_arena, kind_find(kinds, s->kind),
				s->target, input_of(s), INT64_MAX, &needs, &e);

	cr_assert(ok || s->nothing, "%s: %s", s->kind, e.detail);
	return needs;
}

static bool has_action(const json_t *needs, const char *action)
{
	return json_find(needs, "action", action) != NULL;
}

/* What may be looked at all the same stands in the statement of looks. */
static bool is_look(const char *action)
{
	return streq(aws_policy_statement(action, "*", NULL, &trial), "Look");
}

/* NULL: the cloud takes the call with the present policy. */
static const char *refusal(const json_t *step)
{
	const char *call = json_str_or(step, "call", ""), *colon = strchr(call, ':');
	static const char *const services[] = {"cloudformation", "ec2", "eks", "iam",
					       "sagemaker",      "s3",  "logs"};

	json_t *in;

	if (!json_at(step, "request.input"))
		return NULL;
	in = json_own(&trial, json_deep_copy(json_at(step, "request.input")));
	/* Of a cluster that is planned, too. */
	if (step_is_unknown(json_str_at(in, "Orchestrator.Eks.ClusterArn")))
		json_put_str(in, "Orchestrator.Eks.ClusterArn",
			     "arn:aws:eks:us-west-2:111122223333:cluster/fresh");
	for (size_t i = 0; colon && i < sizeof(services) / sizeof(services[0]); i++)
		if (strlen(services[i]) == (size_t)(colon - call) &&
		    strncmp(call, services[i], (size_t)(colon - call)) == 0)
			return cloud_may(w.s.l.cloud, &trial, key, us, services[i],
					 colon + 1, in);
	return NULL;
}

/* Linked roles that the cloud has noted as made are forgotten. */
static void forget_linked(void)
{
	json_object_clear(cloud_table(w.s.l.cloud, "iam.linked_role"));
}

Test(rights, every_kind_has_a_scene)
{
	for (size_t k = 0; kinds[k]; k++) {
		bool there = false;

		for (size_t i = 0; i < SCENES; i++)
			there |= streq(scenes[i].kind, kinds[k]->name);
		cr_expect(there, "%s has no scene", kinds[k]->name);
	}
}

/* The statement that a fix names is there, and covers what the row asks for. */
Test(rights, the_printed_policy_allows_every_plan)
{
	world_up();
	bind(NULL);
	for (size_t i = 0; i < SCENES; i++) {
		const struct scene *s = &scenes[i];
		json_t *out = NULL, *step;
		struct err e = {0};
		size_t n;

		arena_reset(&scene_arena);
		if (s->nothing && !s->input)
			continue;
		if (s->nothing) {
			cr_expect_eq(json_array_size(needs_of(s)), 0, "%s", s->kind);
			continue;
		}
		forget_linked();
		cr_assert(plan(s, &out, &e), "%s: %s / %s / %s", s->kind, e.detail,
			  e.cause[0].message, e.fix);
		cr_expect_str_eq(
			json_str_or(json_find(json_at(out, "checks"), "what", "rights"),
				    "data.verdict", "?"),
			"fits", "%s: %s", s->kind,
			json_text(&w.s.l.arena, json_at(out, "checks")));
		json_array_foreach(json_at(out, "steps"), n, step)
			cr_expect_null(refusal(step), "%s: %s", s->kind, refusal(step));
	}
	world_down();
}

static bool comes_later(const json_t *steps, const char *action)
{
	return json_find(steps, "call", "cloudformation:CreateStack") ||
	       json_find(steps, "call", "cloudformation:DeleteStack") ||
	       ((streq(action, "iam:DeleteRole") ||
		 streq(action, "iam:DeleteRolePolicy")) &&
		(json_find(steps, "call", "iam:DetachRolePolicy") ||
		 json_find(steps, "call", "iam:DeleteRolePolicy")));
}

/* One right less: the plan says so, and the cloud refuses on just that. */
static void without_one(const struct scene *s, const json_t *needs, const json_t *steps,
			const char *action)
{
	struct rights_found f = {0};
	bool refused = false;
	json_t *step;
	size_t n;

	forget_linked();
	if (has_action(needs, action)) {
		rights_ask(&w.o.r, needs, INT64_MAX, &trial, &f);
		cr_expect_str_eq(rights_verdict(&f), "does_not_fit", "%s without %s: %s",
				 s->kind, action, f.unasked);
		cr_expect(has_action(f.denied, action), "%s without %s", s->kind, action);
	}
	json_array_foreach(f.denied, n, step)
		cr_expect_str_eq(json_str_or(step, "action", ""), action);
	json_array_foreach(steps, n, step) {
		const char *said = refusal(step);

		if (!said)
			continue;
		refused = true;
		cr_expect(strstr(said, action), "%s without %s: %s", s->kind, action,
			  said);
		cr_expect(has_action(needs, action), "%s: %s is not asked for: %s",
			  s->kind, action, said);
	}
	/* What only the work itself would meet: a later look, a part of a stack, the end
	 * of a step that goes by several calls. */
	if (has_action(needs, action) && !refused)
		cr_expect(is_look(action) || comes_later(steps, action),
			  "%s without %s is taken by the cloud", s->kind, action);
}

static json_t *all_actions(void)
{
	json_t *policy = aws_policy(&w.s.l.arena), *all = json_new_object(&w.s.l.arena);
	json_t *s, *one;
	size_t i, k;

	json_array_foreach(json_at(policy, "Statement"), i, s)
		json_array_foreach(json_object_get(s, "Action"), k, one)
			json_object_set_new(all, json_string_value(one), json_true());
	/* Without it nothing is known: a test of its own. */
	json_object_del(all, "iam:SimulatePrincipalPolicy");
	return all;
}

Test(rights, each_right_that_lacks_is_told_by_plan_and_cloud_alike)
{
	json_t *needs[SCENES] = {NULL}, *out[SCENES] = {NULL}, *all, *v;
	const char *action;

	world_up();
	bind(NULL);
	for (size_t i = 0; i < SCENES; i++) {
		struct err e = {0};

		if (scenes[i].nothing)
			continue;
		forget_linked();
		needs[i] = needs_of(&scenes[i]);
		cr_assert(plan(&scenes[i], &out[i], &e), "%s: %s", scenes[i].kind,
			  e.detail);
		cr_expect_gt(json_array_size(needs[i]), 0, "%s", scenes[i].kind);
	}
	all = all_actions();
	json_object_foreach(all, action, v) {
		arena_reset(&trial);
		bind(action);
		for (size_t i = 0; i < SCENES; i++)
			if (!scenes[i].nothing)
				without_one(&scenes[i], needs[i],
					    json_at(out[i], "steps"), action);
	}
	world_down();
}

/* --- what a plan says -------------------------------------------------------------- */

static const struct scene scaling = {"scale_instance_group", "demo",
				     "{" POD ",'group_name':'gpu','count':3}", false};
static const struct scene accepted = {
	"scale_instance_group", "demo",
	"{" POD ",'group_name':'gpu','count':3,'" RIGHTS_ACCEPT "':true}", false};

static const char *verdict_of(const json_t *out)
{
	return json_str_or(json_find(json_at(out, "checks"), "what", "rights"),
			   "data.verdict", "none");
}

static void set(const char *setting, const char *action)
{
	cloud_configure(w.s.l.cloud,
			action ? json_packf(&trial, "{s:[s]}", setting, action)
			       : json_packf(&trial, "{s:n}", setting));
	memset(&memo, 0, sizeof(memo));
}

Test(rights, a_plan_is_refused_for_what_is_denied_unless_that_is_accepted)
{
	static const struct {
		const char *setting, *why, *fix;
		enum errc code;
	} by[] = {
		{"denied_actions", "no policy allows it",
		 "statements HyperPod of instantstart-poller --iam-policy",
		 ERR_CLOUD_DENIED},
		{"boundary_denied", "permissions boundary", "permissions boundary",
		 ERR_CLOUD_FORBIDDEN},
		{"scp_denied", "organization", "administrator of the organization",
		 ERR_CLOUD_FORBIDDEN},
	};
	json_t *out = NULL;
	struct err e;

	world_up();
	bind(NULL);
	for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		err_clear(&e);
		set(by[i].setting, "sagemaker:BatchAddClusterNodes");
		cr_assert_not(plan(&scaling, &out, &e), "%s", by[i].setting);
		cr_expect_eq(e.code, by[i].code, "%s", by[i].setting);
		cr_expect(strstr(e.detail, "sagemaker:BatchAddClusterNodes"), "%s",
			  e.detail);
		cr_expect(strstr(e.cause[0].message, by[i].why), "%s",
			  e.cause[0].message);
		cr_expect(strstr(e.seen, ":cluster/"), "%s", e.seen);
		cr_expect(strstr(e.fix, by[i].fix), "%s", e.fix);
		cr_assert(plan(&accepted, &out, &e), "%s", e.detail);
		cr_expect_str_eq(verdict_of(out), "does_not_fit");
		cr_expect(strstr(json_text(&trial, json_at(out, "warnings")),
				 "sagemaker:BatchAddClusterNodes"));
		set(by[i].setting, NULL);
	}
	world_down();
}

/* A statement that names one cluster alone allows what is done to that one. */
Test(rights, concrete_names_fit_policies_that_name_them)
{
	json_t *out = NULL, *policy, *s;
	struct err e = {0};
	size_t i;

	world_up();
	policy = aws_policy(&scene_arena);
	json_array_foreach(json_at(policy, "Statement"), i, s)
		if (streq(json_str_at(s, "Sid"), "HyperPod"))
			json_put_str(s, "Resource",
				     json_str_at(cloud_get(w.s.l.cloud,
							   "sagemaker.cluster", "pod"),
						 "ClusterArn"));
	cloud_configure(w.s.l.cloud,
			json_packf(&scene_arena, "{s:{s:O}}", "policies", key, policy));
	cr_expect(plan(&scaling, &out, &e), "%s", e.detail);
	cr_expect_str_eq(verdict_of(out), "fits");
	/* What hangs on what only the call itself tells is not known. */
	json_array_foreach(json_at(policy, "Statement"), i, s)
		if (streq(json_str_at(s, "Sid"), "HyperPod"))
			json_put(s, "Condition",
				 json_pack("{s:{s:s}}", "StringEquals", "aws:SourceVpc",
					   "vpc-1"));
	cloud_configure(w.s.l.cloud,
			json_packf(&scene_arena, "{s:{s:O}}", "policies", key, policy));
	memset(&memo, 0, sizeof(memo));
	cr_expect(plan(&scaling, &out, &e), "%s", e.detail);
	cr_expect_str_eq(verdict_of(out), "not_known");
	cr_expect(strstr(json_text(&scene_arena, json_at(out, "warnings")),
			 "aws:SourceVpc"));
	world_down();
}

/* Without an answer there is no verdict, and nothing stands in the way. */
Test(rights, what_iam_does_not_tell_is_not_known)
{
	static const char *const faults[] = {"denied",      "throttle", "lose_request",
					     "lose_answer", "garbage",  "error",
					     "big"};
	static const char *const strangers[] = {
		"arn:aws:iam::111122223333:root",
		"arn:aws:sts::111122223333:federated-user/bob",
		"arn:aws:iam::111122223333:role/nobody", NULL};
	json_t *out = NULL;
	struct err e = {0};

	world_up();
	bind(NULL);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		cloud_clear_faults(w.s.l.cloud);
		cloud_add_fault(w.s.l.cloud,
				json_packf(&trial, "{s:s, s:s, s:i, s:s}", "service",
					   "iam", "op", "SimulatePrincipalPolicy",
					   "times", 1000, "fault", faults[i]));
		cr_assert(plan(&scaling, &out, &e), "%s: %s", faults[i], e.detail);
		cr_expect_str_eq(verdict_of(out), "not_known", "%s", faults[i]);
		cr_expect(strstr(json_text(&trial, json_at(out, "warnings")),
				 "could not be checked"),
			  "%s", faults[i]);
	}
	cloud_clear_faults(w.s.l.cloud);
	bind("iam:SimulatePrincipalPolicy");
	cr_assert(plan(&scaling, &out, &e), "%s", e.detail);
	cr_expect_str_eq(verdict_of(out), "not_known");
	bind(NULL);
	for (size_t i = 0; i <= sizeof(strangers) / sizeof(strangers[0]) - 1; i++) {
		w.o.where.caller_arn = strangers[i];
		cr_assert(plan(&scaling, &out, &e), "%s: %s", strangers[i], e.detail);
		cr_expect_str_eq(verdict_of(out), "not_known", "%s", strangers[i]);
	}
	w.o.where.caller_arn = us;
	cr_assert(plan(&scaling, &out, &e), "%s", e.detail);
	cr_expect_str_eq(verdict_of(out), "fits");
	world_down();
}

/* Allowed lately is not asked again; a denial is. */
Test(rights, what_was_allowed_is_remembered_for_a_minute)
{
	json_t *out = NULL;
	struct err e = {0};
	int64_t asked;

	world_up();
	bind(NULL);
	cr_assert(plan(&scaling, &out, &e), "%s", e.detail);
	cloud_add_fault(w.s.l.cloud, json_packf(&trial, "{s:s, s:s, s:i, s:s}", "service",
						"iam", "op", "SimulatePrincipalPolicy",
						"times", 1000, "fault", "denied"));
	cr_assert(plan(&scaling, &out, &e), "%s", e.detail);
	cr_expect_str_eq(verdict_of(out), "fits");
	asked = RIGHTS_KEPT_MS + 1000;
	clock_manual_advance(&w.s.l.clock, asked);
	cr_assert(plan(&scaling, &out, &e), "%s", e.detail);
	cr_expect_str_eq(verdict_of(out), "not_known");
	world_down();
}

/* --- the first claim ------------------------------------------------------------------
 */

static struct walk first_claim(const struct scene *s, int64_t try)
{
	struct walk f = {.r = &w.o.r,
			 .a = &scene_arena,
			 .kind = kind_find(kinds, s->kind),
			 .lease_ms = 60000,
			 .start_mono_ms = w.s.l.clock.clock.mono_ms(&w.s.l.clock.clock)};

	f.claim = (struct claim){.op_id = "op_1",
				 .root_id = "op_1",
				 .kind = s->kind,
				 .target = s->target,
				 .try = try};
	f.step = f.kind->steps;
	f.ctx = (struct step_ctx){.arena = &scene_arena,
				  .cfg = &w.o.cfg,
				  .where = &w.o.where,
				  .target = s->target,
				  .input = input_of(s),
				  .data = json_new_object(&scene_arena),
				  .events = json_new_list(&scene_arena),
				  .step = f.step};
	return f;
}

Test(rights, an_operation_ends_before_its_first_step_when_it_is_denied)
{
	struct walk f;
	json_t *data;

	world_up();
	bind("sagemaker:BatchAddClusterNodes");
	f = first_claim(&scaling, 1);
	walk_rights(&f);
	cr_expect_eq(f.ctx.verdict.kind, VERDICT_FAIL);
	cr_expect(f.final);
	cr_expect(strstr(f.ctx.verdict.error.detail, "sagemaker:BatchAddClusterNodes"));
	/* Mended, and tried again. */
	data = f.ctx.data;
	bind(NULL);
	f = first_claim(&scaling, 2);
	f.ctx.data = data;
	walk_rights(&f);
	cr_expect_eq(f.ctx.verdict.kind, VERDICT_NONE);
	/* Once a try; not of a stage, not after it was accepted. */
	bind("sagemaker:BatchAddClusterNodes");
	f.claim.try = 2;
	walk_rights(&f);
	cr_expect_eq(f.ctx.verdict.kind, VERDICT_NONE);
	f = first_claim(&accepted, 1);
	walk_rights(&f);
	cr_expect_eq(f.ctx.verdict.kind, VERDICT_NONE);
	f = first_claim(&scaling, 1);
	f.claim.parent_id = "op_0";
	walk_rights(&f);
	cr_expect_eq(f.ctx.verdict.kind, VERDICT_NONE);
	/* Not known: said, and gone on. */
	bind("iam:SimulatePrincipalPolicy");
	f = first_claim(&scaling, 1);
	walk_rights(&f);
	cr_expect_eq(f.ctx.verdict.kind, VERDICT_NONE);
	cr_expect(strstr(json_text(&scene_arena, f.ctx.events), "could not be checked"));
	world_down();
}

/* --- the work itself
 * -------------------------------------------------------------------- */

static void note_sent(const json_t *entry, json_t *sent)
{
	const struct rights_place place = {"aws", "us-west-2", "111122223333"};

	for (int op = 0; op < AWS_OPS_COUNT_; op++)
		if (streq(aws_op_service(aws_op((enum aws_op_id)op)),
			  json_str_at(entry, "service")) &&
		    streq(aws_op_name(aws_op((enum aws_op_id)op)),
			  json_str_at(entry, "op")))
			aws_rights((enum aws_op_id)op, json_at(entry, "input"), NULL,
				   &place, &trial, sent);
}

/* Every change that the work makes has been asked for by the plan. */
Test(rights, the_work_asks_for_nothing_that_the_plan_has_not_told)
{
	static const char *const works[] = {"create_hyperpod_cluster",
					    "set_training_operator",
					    "set_tiered_checkpointing",
					    "set_autoscaling",
					    "add_instance_group",
					    "scale_instance_group",
					    "update_instance_group",
					    "delete_instance_group",
					    "delete_cluster"};

	world_up();
	w.save[0] = cloud_save(w.s.l.cloud);
	for (size_t k = 0; k < sizeof(works) / sizeof(works[0]); k++)
		for (size_t i = 0; i < SCENES; i++) {
			const struct scene *s = &scenes[i];
			json_t *needs, *told, *sent = json_new_list(&trial), *row;
			size_t n;

			if (!streq(s->kind, works[k]))
				continue;
			world_go(&w, 0);
			needs = needs_of(s);
			told = json_own(&scene_arena, json_deep_copy(needs));
			(void)operate(&w.o, s->kind, input_of(s), 0);
			json_array_foreach(cloud_ledger(w.s.l.cloud), n, row)
				if (streq(json_str_at(row, "via"), "aws"))
					note_sent(row, sent);
			cr_expect_gt(json_array_size(sent), 0, "%s sent nothing: %s",
				     s->kind, w.o.failed);
			json_array_foreach(sent, n, row)
				cr_expect(
					has_action(told, json_str_or(row, "action", "")),
					"%s: %s is not told by its plan", s->kind,
					json_str_or(row, "action", ""));
		}
	world_down();
}

/* Forced, the work fails on just the right that the plan has named. */
static void force(const struct scene *s, size_t least)
{
	json_t *needs = needs_of(s), *row, *done = json_new_object(&scene_arena);
	size_t n;

	json_array_foreach(needs, n, row) {
		const char *action = json_str_or(row, "action", "");

		if (is_look(action) || json_object_get(done, action))
			continue;
		json_object_set_new(done, action, json_true());
		world_go(&w, 0);
		arena_reset(&trial);
		bind(action);
		cr_expect_not(operate(&w.o, s->kind, input_of(s), 0),
			      "%s goes without %s", s->kind, action);
		cr_expect(w.o.failed && strstr(w.o.failed, action), "%s without %s: %s",
			  s->kind, action, w.o.failed);
	}
	cr_expect_geq(json_object_size(done), least, "%s: %zu", s->kind,
		      json_object_size(done));
}

static void stack_world(void)
{
	lab_start(&w.s.l);
	operate_init(&w.o, &w.s.l);
	w.o.cfg.kubernetes_oldest = "1.28";
	w.o.r.rights = &memo;
	arena_init(&scene_arena, 0);
	arena_init(&trial, 0);
	w.save[0] = cloud_save(w.s.l.cloud);
}

static const struct scene stack = {"create_eks_control_plane", "demo",
				   "{'kubernetes_version':'1.33'}", false};
static const struct scene unstack = {"delete_cluster", "demo", "{}", false};

Test(rights, a_stack_that_is_forced_fails_on_what_the_plan_has_named)
{
	stack_world();
	force(&stack, 15);
	world_down();
}

Test(rights, a_stack_that_goes_asks_for_what_is_in_it)
{
	json_t *out = NULL, *needs;
	struct err e = {0};

	stack_world();
	bind(NULL);
	cr_assert(operate(&w.o, stack.kind, input_of(&stack), 0), "%s", w.o.failed);
	json_decref(w.save[0]);
	w.save[0] = cloud_save(w.s.l.cloud);
	cr_assert(plan(&unstack, &out, &e), "%s / %s", e.detail, e.fix);
	cr_expect_str_eq(verdict_of(out), "fits");
	needs = needs_of(&unstack);
	cr_expect(has_action(needs, "ec2:DeleteVpc") &&
		  has_action(needs, "iam:DeleteRole") &&
		  has_action(needs, "eks:DeleteAddon"));
	cr_assert(operate(&w.o, unstack.kind, input_of(&unstack), 0), "%s", w.o.failed);
	world_go(&w, 0);
	force(&unstack, 10);
	world_down();
}
