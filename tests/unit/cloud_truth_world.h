/* cloud_truth_world.h - plans of every kind, with reads that are answered wrongly. */
#ifndef INSTANTSTART_TESTS_UNIT_CLOUD_TRUTH_WORLD_H
#define INSTANTSTART_TESTS_UNIT_CLOUD_TRUTH_WORLD_H

#include "tests/unit/cloud_operate.h"
#include "tests/unit/cloud_site.h"

enum lie {
	LIE_DENIED,
	LIE_THROTTLED,
	LIE_UNREACHABLE,
	LIE_ABSENT,
	LIE_GARBAGE,
	LIE_CUT,
	LIES_
};

static inline const char *lie_name(enum lie lie)
{
	static const char *const names[] = {"denied", "throttled", "unreachable",
					    "absent", "garbage",   "cut short",
					    "nothing"};

	return names[lie];
}

enum { TRUTH_READS = 400, TRUTH_KINDS = 64 };

/* In which a kind is planned; each goes on from the one before. */
enum truth_place {
	EMPTY,
	CLUSTER,  /* with a HyperPod cluster of two nodes */
	SWITCHED, /* autoscaling and inference on, a group at zero, a storage */
	CLASSED,  /* with a node class */
	POOLED,   /* and a node pool */
	TRUTH_WORLDS
};

/* One read of a plan: which step asked what. */
struct truth_read {
	const char *step;
	const char *call;
	const char *key; /* the request */
	bool can_be_absent;
};

struct truth_row {
	const char *kind;
	const char *input; /* ' for " */
	enum truth_place place;
};

struct truth_plan {
	bool ok;
	struct err e;
	json_t *plan;
};

struct truth_world {
	struct transport net;
	struct site s;
	struct operate o;
	struct arena arena; /* of one row */
	struct arena scratch;
	json_t *worlds[TRUTH_WORLDS]; /* saved */
	/* Of the row: reads in order, their answers, and answers of all kinds. */
	struct truth_read reads[TRUTH_READS];
	size_t n_reads;
	json_t *answers;
	bool recording;
	const struct truth_read *target;
	enum lie lie;
	int told;         /* how often the lie was told */
	bool cut;         /* the wire: half of each answer */
	bool is_true;     /* it is what the cloud says anyway */
	const char *step; /* that asks now */
	struct kind kinds[TRUTH_KINDS];
	const struct kind *list[TRUTH_KINDS + 1];
};

static struct truth_world w;

#define NODES                                                                            \
	"'zone':'us-west-2a','instance_type':'ml.g5.12xlarge','count':1,"                \
	"'capacity_type':'on_demand','group_name':'workers','volume_size_gb':500"

static const struct truth_row truth_rows[] = {
	{"create_cluster", "{'kubernetes_version':'1.33'," NODES "}", EMPTY},
	{"create_eks_control_plane", "{'kubernetes_version':'1.33'}", EMPTY},
	{"import_cluster", "{'eks_name':'demo','hyperpod_name':'pod'}", CLUSTER},
	{"reconcile_dependencies", "{}", CLUSTER},
	{"create_hyperpod_cluster", "{" NODES ",'hyperpod_name':'other'}", CLUSTER},
	{"remove_hyperpod_cluster", "{'hyperpod_name':'pod'}", CLUSTER},
	{"update_features",
	 "{'hyperpod_name':'pod','training_operator':{'enabled':true},"
	 "'inference_operator':{'enabled':true},'tiered_checkpointing':{'enabled':true}}",
	 CLUSTER},
	{"set_training_operator",
	 "{'hyperpod_name':'pod','feature':'training_operator','enabled':true}", CLUSTER},
	{"set_inference_operator",
	 "{'hyperpod_name':'pod','feature':'inference_operator','enabled':true}",
	 CLUSTER},
	{"set_inference_operator",
	 "{'hyperpod_name':'pod','feature':'inference_operator','enabled':false}",
	 SWITCHED},
	{"set_tiered_checkpointing",
	 "{'hyperpod_name':'pod','feature':'tiered_checkpointing','enabled':true}",
	 CLUSTER},
	{"add_instance_group",
	 "{'hyperpod_name':'pod','group_name':'more','instance_type':'ml.g5.12xlarge',"
	 "'count':2,'zone':'us-west-2b','capacity_type':'on_demand','volume_size_gb':200}",
	 CLUSTER},
	{"scale_instance_group", "{'hyperpod_name':'pod','group_name':'gpu','count':3}",
	 CLUSTER},
	{"scale_instance_group", "{'hyperpod_name':'pod','group_name':'gpu','count':0}",
	 CLUSTER},
	{"update_instance_group",
	 "{'hyperpod_name':'pod','group_name':'gpu','labels':{'team':'red'}}", CLUSTER},
	{"delete_instance_group", "{'hyperpod_name':'pod','group_name':'gpu'}", CLUSTER},
	{"update_cluster_software", "{'hyperpod_name':'pod','groups':['gpu']}", CLUSTER},
	{"create_s3_storage",
	 "{'name':'more','namespace':'default','bucket':'sagemaker-demo-scripts','uid':-1,'gid':-1}",
	 SWITCHED},
	{"delete_storage", "{'name':'data','namespace':'default'}", SWITCHED},
	{"delete_cluster", "{'hyperpod_name':'pod'}", POOLED},
	{"set_autoscaling",
	 "{'hyperpod_name':'pod','feature':'autoscaling','enabled':true}", CLUSTER},
	{"set_autoscaling",
	 "{'hyperpod_name':'pod','feature':'autoscaling','enabled':false}", SWITCHED},
	{"create_node_class",
	 "{'hyperpod_name':'pod','name':'more','instance_groups':['idle']}", SWITCHED},
	{"delete_node_class", "{'hyperpod_name':'pod','name':'gpu'}", CLASSED},
	{"create_node_pool",
	 "{'hyperpod_name':'pod','name':'more','node_class_ref':{'name':'gpu'}}",
	 CLASSED},
	{"delete_node_pool", "{'hyperpod_name':'pod','name':'train'}", POOLED},
	{"reboot_nodes", "{'hyperpod_name':'pod','nodes':['NODE']}", CLUSTER},
	{"replace_nodes", "{'hyperpod_name':'pod','nodes':['NODE']}", CLUSTER},
	{"delete_nodes", "{'hyperpod_name':'pod','nodes':['NODE']}", CLUSTER},
	{NULL, NULL, EMPTY},
};

/* --- answers ------------------------------------------------------------------------ */

static inline json_t *keep_answer(const struct answer *a)
{
	return json_pack("{s:b, s:b, s:O*, s:s*, s:i, s:s*, s:s*, s:s*, s:s*, s:i}", "ok",
			 a->ok, "ambiguous", a->ambiguous, "out", a->out, "text", a->text,
			 "status", a->status, "code", a->code, "message", a->message,
			 "request_id", a->request_id, "region", a->bucket_region, "errc",
			 (int)a->errc);
}

static inline void give_answer(const json_t *kept, const struct exchange *x,
			       struct arena *a, struct answer *ret)
{
	json_t *out = json_at(kept, "out");

	*ret = (struct answer){.via = x->via,
			       .call = exchange_name(x, a),
			       .ok = json_bool_or(kept, "ok", false),
			       .ambiguous = json_bool_or(kept, "ambiguous", false),
			       .out = out ? json_own(a, json_deep_copy(out)) : NULL,
			       .text = json_str_at(kept, "text"),
			       .status = (int)json_int_or(kept, "status", 0),
			       .code = json_str_or(kept, "code", ""),
			       .message = json_str_or(kept, "message", ""),
			       .request_id = json_str_or(kept, "request_id", ""),
			       .bucket_region = json_str_at(kept, "region"),
			       .errc = (enum errc)json_int_or(kept, "errc", 0)};
}

/* A proxy that ends the answer in the middle, and says that this was it. */
static inline bool truth_send(struct transport *t, struct arena *a,
			      const struct http_request *req, struct http_answer *ret,
			      struct err *e)
{
	struct transport *inner = cloud_transport(w.s.l.cloud);
	const bool answered = inner->send(inner, a, req, ret, e);

	(void)t;
	if (answered && w.cut)
		ret->body_len /= 2;
	return answered;
}

/* By the product's own clients, over the cloud's wire. */
static inline const json_t *ask_cloud(const struct exchange *x, const char *key)
{
	json_t *kept = json_object_get(w.answers, key);
	struct runner plain = w.o.r;
	struct answer ans;

	if (kept)
		return kept;
	plain.exchange = NULL;
	runner_exchange(&plain, x, NULL, &w.scratch, &ans);
	kept = keep_answer(&ans);
	json_object_set_new(w.answers, key, kept);
	return kept;
}

/* What the wire makes of the cloud's fault. */
static inline void tell_fault(const struct exchange *x, const char *key,
			      const char *fault, struct arena *a, struct answer *ret)
{
	const char *of = arena_printf(&w.arena, "%s!%s", key, fault);

	if (!json_object_get(w.answers, of))
		cloud_add_fault(w.s.l.cloud, json_packf(&w.scratch, "{s:s, s:i}", "fault",
							fault, "times", 8));
	give_answer(ask_cloud(x, of), x, a, ret);
	cloud_clear_faults(w.s.l.cloud);
}

static inline void tell_lie(const struct exchange *x, const char *key, enum lie lie,
			    struct arena *a, struct answer *ret)
{
	w.told++;
	switch (lie) {
	case LIE_DENIED:
		tell_fault(x, key, "denied", a, ret);
		return;
	case LIE_THROTTLED:
		tell_fault(x, key, "throttle", a, ret);
		return;
	case LIE_UNREACHABLE:
		tell_fault(x, key, "lose_request", a, ret);
		return;
	case LIE_GARBAGE:
		tell_fault(x, key, "garbage", a, ret);
		return;
	case LIE_CUT:
		w.cut = true;
		give_answer(ask_cloud(x, arena_printf(&w.arena, "%s!cut", key)), x, a,
			    ret);
		w.cut = false;
		return;
	case LIE_ABSENT:
	case LIES_:
		break;
	}
	*ret = (struct answer){.via = x->via,
			       .call = exchange_name(x, a),
			       .status = 404,
			       .code = "NotFound",
			       .message = "there is no such thing",
			       .request_id = "req-of-the-lie",
			       .errc = ERR_CLOUD_NOT_FOUND};
}

/* A list that has nothing is an answer, and so is one of a kind that nobody has defined;
 * one by ids is told that there is no such thing. */
static inline bool can_be_absent(const struct exchange *x, const char *call,
				 const char *key)
{
	const json_t *there = ask_cloud(x, key);
	const char *name = strchr(call, ':') + 1, *member;
	json_t *v;

	if (json_int_or(there, "errc", 0) == ERR_CLOUD_NOT_FOUND)
		return false;
	if (x->via == VIA_KUBE)
		return x->kube.verb != KUBE_LIST;
	if (!str_starts(call, "ec2:") && !str_starts(call, "logs:"))
		return !str_starts(name, "List");
	json_object_foreach(x->in, member, v)
		if (str_has_suffix(str_of(member), STR("Ids")))
			return true;
	return false;
}

static inline bool is_same(const struct answer *told, const json_t *truth)
{
	if (!told->ok)
		return streq(told->code, json_str_at(truth, "code"));
	return json_bool_or(truth, "ok", false) &&
	       (!told->out || json_equal(told->out, json_at(truth, "out")));
}

static inline void truth_exchange(struct runner *r, const struct exchange *x,
				  const char *token, struct arena *a, struct answer *ret)
{
	const char *call = exchange_name(x, a);
	const char *key = arena_printf(&w.arena, "%s %s %s", call,
				       x->target.endpoint ? x->target.endpoint : "",
				       json_digest(a, exchange_tree(x, a)));

	(void)r;
	(void)token;
	cr_assert_not(exchange_mutates(x), "a plan sends %s", call);
	if (w.recording) {
		bool known = false;

		for (size_t i = 0; i < w.n_reads; i++)
			known |= streq(w.reads[i].key, key);
		if (!known) {
			cr_assert_lt(w.n_reads, TRUTH_READS);
			w.reads[w.n_reads++] =
				(struct truth_read){w.step, arena_strdup(&w.arena, call),
						    key, can_be_absent(x, call, key)};
		}
	}
	if (w.target && streq(w.target->key, key)) {
		tell_lie(x, key, w.lie, a, ret);
		w.is_true = is_same(ret, ask_cloud(x, key));
	} else
		give_answer(ask_cloud(x, key), x, a, ret);
}

/* --- the product's kinds, whose steps say who asks --------------------------------- */

/* The product's own row of a step that is walked here. */
static inline const struct step *truth_original(const struct step_ctx *c)
{
	const struct kind *k = w.kinds;
	size_t n;

	for (n = 0; c->step < k[n].steps || kind_step(&k[n], c->step->name) != c->step;
	     n++)
		cr_assert(k[n + 1].name, "%s is of no kind", c->step->name);
	return &kinds[n]->steps[c->step - k[n].steps];
}

static inline bool truth_observe(struct step_ctx *c, struct exchange *x)
{
	w.step = c->step->name;
	return truth_original(c)->observe(c, x);
}

static inline void truth_kinds(void)
{
	for (size_t n = 0; kinds[n]; n++) {
		size_t rows = 1;

		cr_assert_lt(n, TRUTH_KINDS - 1);
		while (kinds[n]->steps[rows - 1].name)
			rows++;
		struct step *s = arena_array(&w.s.l.arena, struct step, rows);

		memcpy(s, kinds[n]->steps, rows * sizeof(*s));
		for (size_t i = 0; s[i].name; i++)
			if (s[i].observe)
				s[i].observe = truth_observe;
		w.kinds[n] = *kinds[n];
		w.kinds[n].steps = s;
		w.list[n] = &w.kinds[n];
	}
}

/* For a test that looks at what is planned. */
static inline void truth_wrap_plans(void (*plan)(struct step_ctx *c, struct exchange *x))
{
	for (size_t n = 0; w.list[n]; n++) {
		struct step *s = (struct step *)(uintptr_t)w.kinds[n].steps;

		for (; s->name; s++)
			if (s->plan)
				s->plan = plan;
	}
}

/* --- plans -------------------------------------------------------------------------- */

static inline json_t *truth_input(const struct truth_row *row, struct arena *a)
{
	char *z = arena_strdup(a, row->input);
	const char *node = NULL, *id;
	struct err e = {0};
	json_t *in, *n;

	for (char *p = z; *p; p++)
		if (*p == '\'')
			*p = '"';
	in = json_parse(a, str_of(z), &e);
	cr_assert(in, "%s: %s", row->input, e.detail);
	json_object_foreach(cloud_table(w.s.l.cloud, "sagemaker.node"), id, n)
		node = json_str_or(n, "InstanceId", "");
	if (json_at(in, "nodes"))
		json_put(in, "nodes", json_pack("[s]", node ? node : "?"));
	return in;
}

static inline void truth_plan(const struct truth_row *row, const struct truth_read *r,
			      enum lie lie, struct truth_plan *ret)
{
	struct runner planner = w.o.r;

	arena_reset(&w.scratch);
	*ret = (struct truth_plan){0};
	planner.exchange = truth_exchange;
	planner.kinds = w.list;
	w.target = r;
	w.lie = lie;
	w.told = 0;
	w.is_true = false;
	w.recording = !r;
	w.step = "";
	ret->ok = runner_plan(
		&planner, r ? &w.scratch : &w.arena, kind_find(w.list, row->kind), "demo",
		truth_input(row, r ? &w.scratch : &w.arena), &ret->plan, &ret->e);
	if (r)
		cr_expect_gt(w.told, 0, "%s: %s was not asked again", row->kind, r->key);
}

/* --- operations, up to their first call ----------------------------------------------
 */

struct truth_run {
	enum verdict_kind kind; /* with which it stopped; NONE: before `call` */
	struct err e;
	const char *call; /* that it would send, with its request; NULL: none */
	json_t *events;
};

static inline void truth_claim(struct step_ctx *c, struct exchange *x)
{
	c->seen = json_new_object(c->arena);
	c->reads = 0;
	c->item = NULL;
	c->verdict = (struct verdict){.kind = VERDICT_NONE};
	while (c->step->observe && c->verdict.kind == VERDICT_NONE) {
		struct exchange ask = {.via = VIA_NONE};
		struct answer ans;

		if (!c->step->observe(c, &ask) || ask.via == VIA_NONE)
			break;
		truth_exchange(&w.o.r, &ask, NULL, c->arena, &ans);
		ans.call = exchange_name(&ask, c->arena);
		(void)walk_take(c, &ans);
	}
	if (c->verdict.kind == VERDICT_NONE && c->step->plan)
		c->step->plan(c, x);
	if (c->verdict.kind == VERDICT_FAIL && c->step->on_fail)
		c->step->on_fail(c);
}

/* False: it stops here. */
static inline bool truth_level(const struct kind *k, const json_t *input,
			       struct truth_run *ret, struct arena *a)
{
	struct step_ctx c = {.arena = a,
			     .cfg = &w.o.cfg,
			     .where = &w.o.where,
			     .op_id = "op_1",
			     .root_id = "op_1",
			     .target = "demo",
			     .input = input,
			     .data = json_new_object(a),
			     .now_ms = w.o.l->clock.clock.wall_ms(&w.o.l->clock.clock),
			     .resources = json_new_list(a),
			     .catalog = json_new_list(a),
			     .events = ret->events,
			     .step = k->steps};

	for (; c.step && c.step->name;
	     c.step = c.verdict.kind == VERDICT_ADVANCE && c.verdict.step
			      ? kind_step(k, c.verdict.step)
			      : kind_step_after(k, c.step)) {
		struct exchange x = {.via = VIA_NONE};
		struct spawn sp = {0};

		c.step_since_ms = c.now_ms;
		c.verdict = (struct verdict){.kind = VERDICT_NONE};
		if (c.step->spawn) {
			if (c.step->spawn(&c, &sp) &&
			    !truth_level(kind_find(w.list, sp.kind), sp.input, ret, a))
				return false;
			continue;
		}
		truth_claim(&c, &x);
		if (c.verdict.kind == VERDICT_NONE && x.via != VIA_NONE) {
			ret->call = json_text(a, exchange_tree(&x, a));
			return false;
		}
		if (c.verdict.kind == VERDICT_DONE)
			return true;
		if (c.verdict.kind != VERDICT_NONE && c.verdict.kind != VERDICT_ADVANCE) {
			ret->kind = c.verdict.kind;
			ret->e = c.verdict.error;
			return false;
		}
	}
	return true;
}

static inline void truth_run(const struct truth_row *row, const struct truth_read *r,
			     enum lie lie, struct truth_run *ret)
{
	struct arena *a = r ? &w.scratch : &w.arena;

	arena_reset(&w.scratch);
	*ret = (struct truth_run){.events = json_new_list(a)};
	w.target = r;
	w.lie = lie;
	w.told = 0;
	w.is_true = false;
	w.recording = !r;
	w.step = "";
	(void)truth_level(kind_find(w.list, row->kind), truth_input(row, a), ret, a);
	if (r)
		cr_expect_gt(w.told, 0, "%s: %s was not asked again", row->kind, r->key);
}

/* --- what was said -------------------------------------------------------------------
 */

/* Something in the list that the other has not. */
static inline bool truth_adds(const json_t *list, const json_t *clean)
{
	size_t i, k;
	json_t *v, *was;

	json_array_foreach(list, i, v) {
		bool old = false;

		json_array_foreach(clean, k, was)
			old |= json_equal(v, was);
		if (!old)
			return true;
	}
	return false;
}

/* Another absence may be another plan; what was not told must be said in words. */
static inline bool truth_is_said(const struct truth_plan *p,
				 const struct truth_plan *clean, enum lie lie)
{
	static const char *const members[] = {"checks", "steps", "at_stake",
					      "plan_digest"};

	if (truth_adds(json_at(p->plan, "warnings"), json_at(clean->plan, "warnings")))
		return true;
	for (size_t i = 0; lie == LIE_ABSENT && i < sizeof(members) / sizeof(*members);
	     i++) {
		const json_t *a = json_at(p->plan, members[i]);
		const json_t *b = json_at(clean->plan, members[i]);

		if ((a || b) && !json_equal(a, b))
			return true;
	}
	return false;
}

static inline bool truth_run_is_said(const struct truth_run *r,
				     const struct truth_run *clean, enum lie lie)
{
	if (r->kind != VERDICT_NONE || truth_adds(r->events, clean->events))
		return true;
	return lie == LIE_ABSENT && !streq(r->call, clean->call);
}

/* --- worlds ------------------------------------------------------------------------- */

static inline void until_in_service(struct lab *l)
{
	json_t *out = NULL;

	for (int i = 0; i < 400; i++) {
		out = lab_call(l, "sagemaker", "DescribeCluster", "{s:s}", "ClusterName",
			       "pod");
		if (streq(json_str_at(out, "ClusterStatus"), "InService") &&
		    json_int_or(out, "InstanceGroups.0.CurrentCount", 0) == 2)
			break;
		lab_wait(l, 5000);
	}
	lab_wait(l, 120000);
}

static inline void make(const char *kind, const char *input)
{
	char *z = arena_strdup(&w.s.l.arena, input);
	struct err e = {0};
	json_t *in;

	for (char *p = z; *p; p++)
		if (*p == '\'')
			*p = '"';
	in = json_parse(&w.s.l.arena, str_of(z), &e);
	operate(&w.o, kind, in, 0);
	cr_assert_null(w.o.failed, "%s: %s\n%s", kind, w.o.failed, w.o.log);
}

static inline void keep(enum truth_place place)
{
	w.worlds[place] = cloud_save(w.s.l.cloud);
}

static inline void truth_build(void)
{
	struct lab *l = &w.s.l;

	arena_init(&w.arena, 1 << 28);
	arena_init(&w.scratch, 1 << 26);
	lab_start(l);
	cloud_configure(l->cloud,
			json_packf(&l->arena, "{s:{s:i}}", "quota", "L-4C3F99F6", 8));
	keep(EMPTY);
	lab_stop(l);
	build(&w.s, "sagemaker-demo-scripts");
	cloud_configure(l->cloud,
			json_packf(&l->arena, "{s:{s:i}}", "quota", "L-4C3F99F6", 8));
	lab_call(l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName", "demo", "addonName",
		 "coredns");
	cr_assert(cloud_invoke(
		l->cloud, &l->arena, "sagemaker", "CreateCluster",
		json_own(&l->arena,
			 request(&w.s, group(&w.s, "gpu", "ml.g5.12xlarge", 2), true)),
		NULL, NULL, &l->code, &l->message));
	put_agent(l);
	until_in_service(l);
	operate_init(&w.o, l);
	w.o.cfg.kube_image = "busybox";
	w.net.send = truth_send;
	w.o.aws.net = &w.net;
	kube_init(&w.o.kube, &l->arena, &w.net, &w.o.aws, 5000);
	truth_kinds();
	keep(CLUSTER);
	make("set_autoscaling",
	     "{'hyperpod_name':'pod','feature':'autoscaling','enabled':true}");
	make("add_instance_group",
	     "{'hyperpod_name':'pod','group_name':'idle','instance_type':"
	     "'ml.g5.12xlarge','count':0,'zone':'us-west-2a','capacity_type':"
	     "'on_demand'}");
	make("set_inference_operator",
	     "{'hyperpod_name':'pod','feature':'inference_operator','enabled':true}");
	lab_call(l, "iam", "CreateRole", "{s:s,s:s,s:[{s:s,s:s},{s:s,s:s},{s:s,s:s}]}",
		 "RoleName", "is-demo-s3-csi", "AssumeRolePolicyDocument", trust, "Tags",
		 "Key", "instantstart:cluster", "Value", "demo", "Key",
		 "instantstart:installation", "Value", "here", "Key",
		 "instantstart:operation", "Value", "op_0");
	lab_wait(l, 120000);
	make("create_s3_storage",
	     "{'name':'data','namespace':'default','bucket':'sagemaker-demo-scripts',"
	     "'uid':-1,'gid':-1}");
	keep(SWITCHED);
	make("create_node_class",
	     "{'hyperpod_name':'pod','name':'gpu','instance_groups':['idle']}");
	keep(CLASSED);
	make("create_node_pool",
	     "{'hyperpod_name':'pod','name':'train','node_class_ref':{'name':'gpu'}}");
	keep(POOLED);
}

static inline void truth_world(const struct truth_row *row)
{
	cloud_restore(w.s.l.cloud, w.worlds[row->place]);
	cloud_advance(w.s.l.cloud);
	arena_reset(&w.arena);
	w.n_reads = 0;
	w.answers = json_new_object(&w.arena);
}

static inline void truth_free(void)
{
	for (int i = 0; i < TRUTH_WORLDS; i++)
		json_decref(w.worlds[i]);
	operate_free(&w.o);
	arena_free(&w.arena);
	arena_free(&w.scratch);
	lab_stop(&w.s.l);
}

#endif
