/*
 * Reboot, replace, delete: whole operations against a cluster that is a table.
 *
 * The steps' pure functions are walked as the runner does; what the cluster
 * answers, and what it is told, is counted.
 */
#include "tests/unit/domain_scene.h"

enum { NODES = 50, CALLS = 16 };

struct machine {
	char id[24], now[24]; /* asked for, and the instance at present */
	const char *status;
	const char *refuses; /* code of the next batch call */
	int refusals;        /* how often; 0: always */
	bool deaf;           /* accepted, and nothing comes of it */
	bool gone;
	int boots;
	const char *pod, *volume; /* JSON with ' for " */
};

struct world {
	struct arena arena;
	struct machine m[NODES];
	int n;
	int calls;
	int refused_call; /* the whole of it */
	int sizes[CALLS];
	const char *ids[CALLS]; /* of each batch call */
	const char *op;
	json_t *data;
	int64_t now_ms, since_ms;
	const char *said; /* of the last verdict */
	const json_t *events, *at_stake;
	struct verdict end;
};

static struct machine *machine(struct world *w, const char *id)
{
	for (int i = 0; i < w->n; i++)
		if (streq(w->m[i].id, id) || streq(w->m[i].now, id) ||
		    streq(arena_printf(&w->arena, "l%d", i), id))
			return &w->m[i];
	return NULL;
}

static void begin(struct world *w, int n)
{
	*w = (struct world){.n = n, .now_ms = scene_now_ms};
	arena_init(&w->arena, 1 << 27);
	w->data = json_new_object(&w->arena);
	for (int i = 0; i < n; i++) {
		snprintf(w->m[i].id, sizeof(w->m[i].id), "i-%017x", i + 1);
		str_copy(w->m[i].now, sizeof(w->m[i].now), w->m[i].id);
		w->m[i].status = "Running";
		w->m[i].boots = 1;
	}
}

/* --- what the clouds answer ---------------------------------------------------- */

static json_t *describe(struct world *w, const char *id)
{
	const struct machine *m = machine(w, id);

	return !m || m->gone
		       ? NULL
		       : json_packf(&w->arena, "{s:{s:s, s:s, s:s, s:s, s:{s:s}}}",
				    "NodeDetails", "InstanceId", m->now, "NodeLogicalId",
				    arena_printf(&w->arena, "l%td", m - w->m),
				    "InstanceGroupName", "gpu", "InstanceType",
				    "ml.p5.48xlarge", "InstanceStatus", "Status",
				    m->status);
}

static json_t *kube_node(struct world *w, const char *name)
{
	const struct machine *m = machine(w, name + strlen("hyperpod-"));

	return !m || m->gone ? NULL
			     : json_packf(&w->arena, "{s:{s:{s:o}, s:[{s:s, s:s}]}}",
					  "status", "nodeInfo", "bootID",
					  json_sprintf("boot-%d", m->boots), "conditions",
					  "type", "Ready", "status", "True");
}

static json_t *pods_on(struct world *w, const char *selector)
{
	struct str rest = str_of(selector ? strstr(selector, "hyperpod-") : NULL);
	const char *node = str_dup(&w->arena, str_cut(&rest, ','));
	const struct machine *m = *node ? machine(w, node + 9) : NULL;
	json_t *items = json_new_list(&w->arena);

	if (m && m->pod)
		json_push(items,
			  json_packf(&w->arena, "{s:{s:s, s:s}, s:{s:s, s:O}, s:{s:s}}",
				     "metadata", "name", m->pod, "namespace", "default",
				     "spec", "nodeName", node, "volumes",
				     scene_tree(&w->arena, m->volume), "status", "phase",
				     "Running"));
	return json_packf(&w->arena, "{s:O, s:{}}", "items", items, "metadata");
}

static void act(struct machine *m, const char *op)
{
	if (m->deaf)
		return;
	if (streq(op, "BatchRebootClusterNodes"))
		m->boots++;
	else if (streq(op, "BatchReplaceClusterNodes"))
		m->now[2] = 'f';
	else
		m->gone = true;
}

static json_t *batch(struct world *w, const char *op, const json_t *in)
{
	json_t *ok = json_new_list(&w->arena), *failed = json_new_list(&w->arena), *v;
	size_t i;

	cr_assert_lt(w->calls, CALLS);
	w->op = op;
	w->sizes[w->calls] = (int)json_len_at(in, "NodeIds");
	w->ids[w->calls++] = json_text(&w->arena, json_at(in, "NodeIds"));
	if (w->calls == w->refused_call)
		return json_packf(&w->arena, "{s:s, s:s}", "!", "AccessDeniedException",
				  "message", "not now");
	json_array_foreach(json_at(in, "NodeIds"), i, v) {
		struct machine *m = machine(w, json_string_value(v));

		if (m->refuses) {
			json_push(failed, json_pack("{s:O, s:s, s:s, s:s}", "NodeId", v,
						    "ErrorCode", m->refuses, "Code",
						    m->refuses, "Message", "no"));
			if (m->refusals && --m->refusals == 0)
				m->refuses = NULL;
			continue;
		}
		act(m, op);
		json_array_append(ok, v);
	}
	return json_packf(&w->arena, "{s:O, s:O}", "Successful", ok, "Failed", failed);
}

static json_t *answer_of(struct world *w, const struct exchange *x)
{
	const char *op = x->via == VIA_AWS ? aws_op_name(aws_op(x->aws)) : "";

	if (x->via == VIA_KUBE)
		return x->kube.name ? kube_node(w, x->kube.name)
				    : pods_on(w, x->kube.field_selector);
	if (streq(op, "DescribeClusterNode"))
		return describe(w, json_str_or(x->in, "NodeId",
					       json_str_or(x->in, "NodeLogicalId", "")));
	if (str_starts(op, "Batch"))
		return batch(w, op, x->in);
	return streq(op, "DescribeCluster") &&
			       aws_op(x->aws) == aws_op(AWS_EKS_DescribeCluster)
		       ? scene_tree(&w->arena,
				    "{'cluster':{'name':'demo','status':'ACTIVE',"
				    "'endpoint':'https://k','accessConfig':"
				    "{'authenticationMode':'API'}}}")
		       : scene_tree(
				 &w->arena,
				 "{'ClusterName':'demo','InstanceGroups':[{'InstanceGroupName':"
				 "'gpu','TargetCount':30,'CurrentCount':30}]}");
}

/* --- the walk -------------------------------------------------------------------- */

static void play_step(struct world *w, struct step_ctx *c)
{
	struct exchange x = {.via = VIA_NONE};
	struct answer a;

	for (int i = 0; c->step->observe && c->verdict.kind == VERDICT_NONE; i++) {
		x = (struct exchange){.via = VIA_NONE};
		if (!c->step->observe(c, &x) || x.via == VIA_NONE)
			break;
		a = scene_answer(c->arena, &x, answer_of(w, &x));
		walk_take(c, &a);
	}
	x = (struct exchange){.via = VIA_NONE};
	if (c->verdict.kind == VERDICT_NONE && c->step->plan)
		c->step->plan(c, &x);
	if (c->verdict.kind != VERDICT_NONE || x.via == VIA_NONE || c->planning)
		return;
	a = scene_answer(c->arena, &x, answer_of(w, &x));
	c->step->absorb(c, &a);
}

/* From a step, at most so many looks; true when the operation has ended. */
static bool walk(struct world *w, const char *kind_name, const char *from,
		 const char *input, int looks, bool planning)
{
	static struct config cfg = {.poll_scale_percent = 100};
	const struct kind *kind = kind_find(kinds, kind_name);
	const struct step *s = kind_step(kind, from);

	w->since_ms = w->now_ms;
	for (int i = 0; i < looks; i++) {
		static const struct where where = {.region = "us-west-2"};
		struct step_ctx c = {.arena = &w->arena,
				     .cfg = &cfg,
				     .where = &where,
				     .target = "demo",
				     .op_id = "op_1",
				     .root_id = "op_1",
				     .input = scene_tree(&w->arena, input),
				     .data = w->data,
				     .seen = json_new_object(&w->arena),
				     .step = s,
				     .now_ms = w->now_ms,
				     .step_since_ms = w->since_ms,
				     .planning = planning,
				     .resources = json_new_list(&w->arena),
				     .catalog = json_new_list(&w->arena),
				     .events = json_new_list(&w->arena),
				     .at_stake =
					     planning ? json_new_list(&w->arena) : NULL};

		play_step(w, &c);
		w->end = c.verdict;
		w->events = c.events;
		if (planning && json_array_size(c.at_stake))
			w->at_stake = c.at_stake;
		w->said = c.verdict.kind == VERDICT_WAIT ? c.verdict.waiting_for : "";
		if (c.verdict.kind == VERDICT_FAIL || c.verdict.kind == VERDICT_DONE)
			return true;
		if (c.verdict.kind == VERDICT_WAIT) {
			w->now_ms += c.verdict.due_ms + 1000;
			continue;
		}
		s = c.verdict.step && !planning ? kind_step(kind, c.verdict.step)
						: kind_step_after(kind, s);
		w->since_ms = w->now_ms;
	}
	return false;
}

static const char *all_of(struct world *w)
{
	struct buf b;

	buf_init(&b, &w->arena, 4096);
	for (int i = 0; i < w->n; i++)
		buf_printf(&b, "%s'%s'", i ? "," : "", w->m[i].id);
	return arena_printf(&w->arena, "{'nodes':[%s]}", buf_cstr(&b));
}

/* --- IG-02 ------------------------------------------------------------------------ */

Test(node_actions,
     of_30_nodes_some_are_refused_and_only_the_faults_of_aws_are_asked_again)
{
	struct world w;
	const char *input;

	begin(&w, 30);
	input = all_of(&w);
	w.m[2].refuses = "InvalidInstanceStatus";
	w.m[6].refuses = "InternalServerError";
	w.m[6].refusals = 1;
	cr_assert(walk(&w, "replace_nodes", "read_eks", input, 60, false));
	cr_expect_eq(w.calls, 3);
	cr_expect_eq(w.sizes[0], 25);
	cr_expect_eq(w.sizes[1], 5);
	cr_expect_eq(w.sizes[2], 1);
	cr_expect(strstr(w.ids[2], w.m[6].id), "%s", w.ids[2]);
	cr_expect_eq(w.end.kind, VERDICT_FAIL);
	cr_expect_eq(w.end.error.code, ERR_PARTIAL);
	cr_expect_eq(json_int_or(w.end.result, "ok", 0), 29);
	cr_expect_eq(json_len_at(w.end.result, "failed"), 1);
	cr_expect_str_eq(json_str_or(w.end.result, "failed.0", ""), w.m[2].id);
	cr_expect_str_eq(w.end.error.cause[0].code, "InvalidInstanceStatus");
	/* A retry takes the one that failed, and no other. */
	w.m[2].refuses = NULL;
	cr_assert(walk(&w, "replace_nodes", "find_nodes", input, 60, false));
	cr_expect_eq(w.end.kind, VERDICT_DONE);
	cr_expect_eq(w.calls, 4);
	cr_expect_eq(w.sizes[3], 1);
	cr_expect(strstr(w.ids[3], w.m[2].id), "%s", w.ids[3]);
	cr_expect_eq(json_int_or(w.end.result, "ok", 0), 30);
	arena_free(&w.arena);
}

Test(node_actions, a_fault_of_aws_that_stays_ends_after_four_calls)
{
	struct world w;

	begin(&w, 1);
	w.m[0].refuses = "InternalServerError";
	cr_assert(walk(&w, "delete_nodes", "read_eks", all_of(&w), 60, false));
	cr_expect_eq(w.calls, 4);
	cr_expect_eq(w.end.error.code, ERR_PARTIAL);
	arena_free(&w.arena);
}

/* --- IG-03 ------------------------------------------------------------------------ */

Test(node_actions, a_replacement_names_the_pods_and_the_disks_that_are_lost)
{
	struct world w;
	const char *input;
	json_t *stake;

	begin(&w, 1);
	w.m[0].pod = "trainer-0";
	w.m[0].volume = "[{'name':'nvme','hostPath':{'path':'/opt/dlami/nvme'}},"
			"{'name':'shm','emptyDir':{'medium':'Memory'}}]";
	input = all_of(&w);
	walk(&w, "replace_nodes", "read_eks", input, 8, true);
	cr_expect_eq(w.calls, 0);
	cr_assert_not_null(w.at_stake);
	cr_expect_str_eq(json_str_or(w.at_stake, "0.pods.0", ""), "default/trainer-0");
	cr_expect_str_eq(json_str_or(w.at_stake, "0.local_volumes.0", ""),
			 "trainer-0: hostPath /opt/dlami/nvme (nvme)");
	cr_expect_eq(json_len_at(w.at_stake, "0.local_volumes"), 1);
	/* What comes after it was confirmed was confirmed by nobody. */
	w.data = json_new_object(&w.arena);
	stake = json_own(&w.arena, json_deep_copy(w.at_stake));
	w.m[0].pod = "trainer-1";
	input = json_text(&w.arena, json_packf(&w.arena, "{s:[s], s:O}", "nodes",
					       w.m[0].id, "confirmed", stake));
	cr_assert(walk(&w, "replace_nodes", "read_eks", input, 60, false));
	cr_expect_eq(w.end.error.code, ERR_LOSS_NOT_CONFIRMED);
	cr_expect(strstr(w.end.error.detail, "trainer-1"));
	cr_expect_eq(w.calls, 0);
	arena_free(&w.arena);
}

/* --- IG-09 ------------------------------------------------------------------------ */

Test(node_actions,
     a_node_that_stayed_ready_is_not_rebooted_and_the_same_instance_not_replaced)
{
	static const struct {
		const char *kind, *op;
	} rows[] = {{"reboot_nodes", "BatchRebootClusterNodes"},
		    {"replace_nodes", "BatchReplaceClusterNodes"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world w;

		begin(&w, 1);
		w.m[0].deaf = true;
		cr_expect_not(walk(&w, rows[i].kind, "read_eks", all_of(&w), 20, false));
		cr_expect_str_eq(w.op, rows[i].op);
		cr_expect(strstr(w.said, "to be re"), "%s", w.said);
		w.m[0].deaf = false;
		act(&w.m[0], w.op);
		cr_assert(walk(&w, rows[i].kind, "await_nodes", all_of(&w), 20, false));
		cr_expect_eq(w.end.kind, VERDICT_DONE);
		cr_expect_eq(w.calls, 1);
		arena_free(&w.arena);
	}
}

Test(node_actions, an_action_that_is_at_work_already_is_watched)
{
	struct world w;

	begin(&w, 1);
	w.m[0].refuses = "InstanceIdInUse";
	cr_expect_not(walk(&w, "replace_nodes", "read_eks", all_of(&w), 12, false));
	act(&w.m[0], "BatchReplaceClusterNodes");
	cr_assert(walk(&w, "replace_nodes", "await_nodes", all_of(&w), 20, false));
	cr_expect_eq(w.end.kind, VERDICT_DONE);
	/* One that brings something else leaves ours undone. */
	arena_free(&w.arena);
	begin(&w, 1);
	w.m[0].refuses = "InstanceIdInUse";
	cr_assert(walk(&w, "replace_nodes", "read_eks", all_of(&w), 80, false));
	cr_expect_eq(w.end.error.code, ERR_PARTIAL);
	cr_expect_str_eq(w.end.error.cause[0].code, "InstanceIdInUse");
	cr_expect_eq(w.calls, 1);
	arena_free(&w.arena);
}

Test(node_actions, a_node_of_another_cluster_is_refused_by_name)
{
	struct world w;

	begin(&w, 1);
	cr_assert(walk(&w, "delete_nodes", "read_eks",
		       "{'nodes':['i-00000000000000001','hyperpod-i-0000000000000beef']}",
		       9, false));
	cr_expect_eq(w.end.error.code, ERR_NOT_FOUND);
	cr_expect(strstr(w.end.error.detail, "0000beef"), "%s", w.end.error.detail);
	cr_expect_eq(w.calls, 0);
	arena_free(&w.arena);
}

/* What AWS takes for no instance id is refused before AWS is asked. */
Test(node_actions, half_an_instance_id_is_no_logical_id)
{
	static const struct {
		const char *node;
		bool taken;
	} rows[] = {{"i-0123456789abcdef0", true},
		    {"hyperpod-i-01234567", true},
		    {"84eac6dd939a3d8d", true},
		    {"in-1", true},
		    {"i-000", false},
		    {"hyperpod-i-0", false},
		    {"i-0123456789ABCDEF0", false}};
	const struct capability *cap = capability_find("reboot_nodes");
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err e = {0};

		cr_expect_eq(field_decode(cap->in,
					  json_packf(&a, "{s:s, s:[s]}", "cluster",
						     "demo", "nodes", rows[i].node),
					  &a, arena_alloc(&a, cap->in_size), &e),
			     rows[i].taken, "%s: %s", rows[i].node, e.detail);
	}
	arena_free(&a);
}

/* --- what was asked for is not asked for twice ---------------------------------- */

Test(node_actions, a_node_that_is_named_in_two_ways_is_sent_once)
{
	struct world w;

	begin(&w, 2);
	cr_assert(walk(&w, "replace_nodes", "read_eks",
		       "{'nodes':['i-00000000000000001','l1','l0',"
		       "'hyperpod-i-00000000000000001']}",
		       60, false));
	cr_expect_eq(w.end.kind, VERDICT_DONE);
	cr_expect_eq(w.calls, 1);
	cr_expect_eq(w.sizes[0], 2, "%s", w.ids[0]);
	cr_expect_eq(json_int_or(w.end.result, "ok", 0), 2);
	arena_free(&w.arena);
}

Test(node_actions, a_second_call_that_is_refused_hides_nothing_of_the_first)
{
	struct world w;
	const char *input;

	begin(&w, 30);
	input = all_of(&w);
	w.refused_call = 2;
	cr_assert(walk(&w, "reboot_nodes", "read_eks", input, 80, false));
	cr_expect_eq(w.end.error.code, ERR_PARTIAL, "%s", w.end.error.detail);
	cr_expect_eq(json_int_or(w.end.result, "ok", 0), 25);
	cr_expect_str_eq(w.end.error.cause[0].code, "AccessDeniedException");
	/* A retry takes the five that were refused. */
	cr_assert(walk(&w, "reboot_nodes", "find_nodes", input, 80, false));
	cr_expect_eq(w.end.kind, VERDICT_DONE);
	cr_expect_eq(w.calls, 3);
	cr_expect_eq(w.sizes[2], 5);
	for (int i = 0; i < w.n; i++)
		cr_expect_eq(w.m[i].boots, 2, "node %d", i);
	arena_free(&w.arena);
}

Test(node_actions, a_retry_waits_for_what_is_under_way_and_knows_what_came_late)
{
	static const char *const states[] = {"accepted", "late"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct world w;

		begin(&w, 1);
		cr_expect_not(walk(&w, "reboot_nodes", "read_eks", all_of(&w), 4, false));
		cr_expect_eq(w.calls, 1);
		json_put_str(json_at(w.data, "nodes.0"), "state", states[i]);
		cr_assert(walk(&w, "reboot_nodes", "find_nodes", all_of(&w), 60, false));
		cr_expect_eq(w.end.kind, VERDICT_DONE, "%s", states[i]);
		cr_expect_eq(w.calls, 1, "%s", states[i]);
		cr_expect_eq(w.m[0].boots, 2);
		arena_free(&w.arena);
	}
}
