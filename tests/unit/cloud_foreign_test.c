/*
 * Somebody else's thing under each name that a kind would use: refused before the first
 * call, whatever the kind.
 *
 * Every kind is planned in a world in which it makes something. Each thing that the plan
 * makes by name is then made by somebody else, with the same request but for what says
 * that it is ours, and the kind is planned again. Somebody else is each of: a person,
 * another installation with a cluster of the same name, an operation of before whose id
 * this installation does not know, another cluster of ours. What an operation of before
 * that it does know has made is ours.
 */
#include "tests/unit/cloud_truth_world.h"

/* Of a plan: what it would send, in order. */
struct sent {
	const char *step, *call;
	json_t *request; /* exchange_tree() */
};

enum { SENT_MAX = 200 };

static struct sent sent[SENT_MAX];
static int n_sent;
static bool asking;

/* The product's plan(), and a note of what it built. */
static void noting_plan(struct step_ctx *c, struct exchange *x)
{
	const bool was = asking;

	/* A row that is only asked (step/owners.h) sends nothing. */
	asking |= streq(c->step->name, "check_owners");
	truth_original(c)->plan(c, x);
	asking = was;
	if (asking || c->verdict.kind != VERDICT_NONE || x->via == VIA_NONE ||
	    !exchange_mutates(x))
		return;
	cr_assert_lt(n_sent, SENT_MAX);
	sent[n_sent++] = (struct sent){
		c->step->name, exchange_name(x, &w.arena),
		json_own(&w.arena, json_deep_copy(exchange_tree(x, &w.arena)))};
}

/* --- who made it ---------------------------------------------------------------------
 */

static const struct maker {
	const char *name, *installation, *cluster, *operation;
	bool ours;
	const char *said; /* code of the cause of a refusal */
} all_makers[] = {
	{"a person", NULL, NULL, NULL, false, "not-tagged"},
	{"another installation", "there", "demo", "op_theirs", false,
	 "another-installation"},
	{"another installation that knows our operation", "there", "demo", "op_0", false,
	 "another-installation"},
	{"an unknown operation of before", NULL, "demo", "op_theirs", false,
	 "unknown-operation"},
	{"another cluster of ours", "here", "other", "op_0", false, "another-cluster"},
	{"an operation of before", NULL, "demo", "op_before", true, NULL},
};
enum { N_MAKERS = sizeof(all_makers) / sizeof(all_makers[0]) };

static const struct maker *maker; /* of what is there */

/* What the migration has written down: op_before, and the objects of the ledger. */
static const json_t *known_earlier(void)
{
	static const char *const objects[] = {
		"kubernetes:persistentvolumeclaim demo default/data",
		"kubernetes:persistentvolumeclaim demo default/more",
		"kubernetes:persistentvolume demo is-demo-default-data",
		"kubernetes:persistentvolume demo is-demo-default-more",
		"kubernetes:job demo default/is-probe-more",
		"kubernetes:hyperpodnodeclass demo more",
		"kubernetes:nodepool demo more",
	};
	json_t *map = json_new_object(&w.arena);

	json_object_set_new(map, "operation demo op_before", json_true());
	json_object_set_new(map, "operation op_before", json_true());
	for (size_t i = 0; maker && maker->ours && i < 7; i++)
		json_object_set_new(map, objects[i], json_true());
	return map;
}

/* As a list of Key and Value, or as a map; NULL: none. */
static json_t *their_tags(bool as_map)
{
	json_t *map =
		json_pack("{s:s*, s:s*, s:s*}", "instantstart:installation",
			  maker->installation, "instantstart:cluster", maker->cluster,
			  "instantstart:operation", maker->operation);
	json_t *list = json_array(), *v;
	const char *key;

	if (as_map)
		return map;
	json_object_foreach(map, key, v)
		json_array_append_new(list,
				      json_pack("{s:s, s:O}", "Key", key, "Value", v));
	json_decref(map);
	return list;
}

static void put_labels(json_t *object)
{
	json_drop(object, "metadata.labels");
	if (!maker->cluster)
		return;
	json_put(object, "metadata.labels",
		 json_pack("{s:s, s:s*, s:s}", "app.kubernetes.io/managed-by",
			   "instantstart", "instantstart/installation",
			   maker->installation, "instantstart/cluster", maker->cluster));
}

static bool plan(const struct truth_row *row, struct err *e)
{
	struct truth_plan p;

	n_sent = 0;
	w.answers = json_new_object(&w.arena);
	w.n_reads = 0;
	w.o.where.earlier = known_earlier();
	truth_plan(row, NULL, LIES_, &p);
	*e = p.e;
	return p.ok;
}

/* --- somebody else's ------------------------------------------------------------------
 */

static bool has_unknown_text(const json_t *tree)
{
	const char *key;
	json_t *v;
	size_t i;

	if (json_is_string(tree))
		return step_is_unknown(json_string_value(tree));
	json_object_foreach((json_t *)(uintptr_t)tree, key, v)
		if (has_unknown_text(v))
			return true;
	json_array_foreach(tree, i, v)
		if (has_unknown_text(v))
			return true;
	return false;
}

/* False: it cannot be there yet, since what it stands in is not. */
static bool make_aws(const struct sent *s, const char *service, const char *op)
{
	json_t *in = json_own(&w.arena, json_deep_copy(json_at(s->request, "input")));
	const char *code, *message;

	const bool as_map = json_is_object(json_object_get(in, "tags"));
	const char *member = as_map ? "tags" : "Tags";

	json_object_del(in, "Tags");
	json_object_del(in, "tags");
	if (streq(op, "CreateCluster"))
		in = json_own(
			&w.arena,
			request(&w.s, group(&w.s, "theirs", "ml.g5.12xlarge", 1), true));
	if (streq(op, "CreateCluster")) {
		json_put_str(in, "ClusterName",
			     json_str_at(s->request, "input.ClusterName"));
		json_object_del(in, "Tags");
	}
	if (maker->cluster && !streq(op, "CreateBucket"))
		json_object_set_new(in, member, their_tags(as_map));
	cr_assert_not(has_unknown_text(in), "%s: %s", s->call, json_text(&w.arena, in));
	if (cloud_invoke(w.s.l.cloud, &w.arena, service, op, in, NULL, NULL, &code,
			 &message)) {
		if (maker->cluster && streq(op, "CreateBucket"))
			lab_call(&w.s.l, "s3", "PutBucketTagging", "{s:s, s:{s:o}}",
				 "Bucket", json_str_at(in, "Bucket"), "Tagging", "TagSet",
				 their_tags(false));
		return true;
	}
	cr_assert(strstr(message, "demo"), "%s: %s: %s", s->call, code, message);
	return false;
}

static void make_kube(const struct sent *s)
{
	json_t *o = json_deep_copy(json_at(s->request, "body"));

	put_labels(o);
	/* A Job without labels gets those of its pods. */
	json_drop(o, "spec.template.metadata.labels");
	json_drop(o, "metadata.annotations");
	json_drop(o, "spec.claimRef.uid");
	if (json_str_at(s->request, "namespace"))
		json_put_str(o, "metadata.namespace",
			     json_str_at(s->request, "namespace"));
	cloud_kube_put(w.s.l.cloud, "demo", o);
}

/* What is made by name, and how. */
static const struct {
	const char *call, *service, *op;
} makers[] = {
	{"cloudformation:CreateStack", "cloudformation", "CreateStack"},
	{"iam:CreateRole", "iam", "CreateRole"},
	{"s3:CreateBucket", "s3", "CreateBucket"},
	{"sagemaker:CreateCluster", "sagemaker", "CreateCluster"},
	{"eks:CreateAddon", "eks", "CreateAddon"},
	{"iam:CreateOpenIDConnectProvider", "iam", "CreateOpenIDConnectProvider"},
	{"kubernetes:create ", NULL, NULL},
	{"kubernetes:apply ", NULL, NULL},
};

static bool make_theirs(const struct sent *s, enum truth_place place)
{
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		if (!str_starts(s->call, makers[i].call))
			continue;
		if (makers[i].service)
			return make_aws(s, makers[i].service, makers[i].op);
		if (place == EMPTY) /* no cluster, no object */
			return false;
		make_kube(s);
		return true;
	}
	return false;
}

/* --- what is shared, or taken as it is: why
 * --------------------------------------------- */

static struct shared {
	const char *call, *why;
	int used;
} shared[] = {
	{"eks:CreateAddon",
	 "one add-on of a name serves a cluster: it is used, and said to be there", 0},
	{"iam:CreateOpenIDConnectProvider",
	 "an account has one provider for an issuer: it is used, and stays", 0},
	{"s3:CreateBucket",
	 "an empty bucket of our own account is what a stop between two calls leaves", 0},
};
enum { N_SHARED = sizeof(shared) / sizeof(shared[0]) };

static bool may_be_there(const struct sent *s)
{
	for (size_t i = 0; i < N_SHARED; i++)
		if (streq(s->call, shared[i].call)) {
			shared[i].used++;
			return true;
		}
	return false;
}

/* Calls that would change what is somebody else's and shared. */
static void expect_untouched(const struct truth_row *row, const struct sent *s)
{
	const char *name = json_str_at(s->request, "input.addonName");

	/* The script bucket is the account's, for all clusters and installations. */
	if (!name && !str_starts(json_str_or(s->request, "input.Bucket", ""),
				 "sagemaker-instantstart-"))
		name = json_str_at(s->request, "input.Bucket");
	for (int i = 0; name && maker->cluster && i < n_sent; i++)
		cr_expect(streq(sent[i].call, s->call) ||
				  !strstr(json_text(&w.arena, sent[i].request),
					  arena_printf(&w.arena, "\"%s\"", name)),
			  "%s of %s is changed by %s: %s", name, maker->name, row->kind,
			  sent[i].call);
}

static bool says_whose(const struct err *e)
{
	for (size_t i = 0; i < e->n_causes; i++)
		if (streq(e->cause[i].source, "owner"))
			return streq(e->cause[i].code, maker->said);
	return false;
}

/* This very operation's, or nothing: somebody else's cannot be taken for a part. */
static bool is_of_one_operation(const struct sent *s)
{
	return streq(s->call, "cloudformation:CreateStack") ||
	       streq(s->call, "sagemaker:CreateCluster");
}

static void look_at(const struct truth_row *row)
{
	struct err e = {0};
	int n;
	struct sent all[SENT_MAX];

	truth_world(row);
	cr_assert(plan(row, &e), "%s: %s", row->kind, e.detail);
	n = n_sent;
	memcpy(all, sent, sizeof(all));
	for (int i = 0; i < n * N_MAKERS; i++) {
		bool ok;
		const struct sent *s = &all[i / N_MAKERS];

		maker = &all_makers[i % N_MAKERS];
		cloud_restore(w.s.l.cloud, w.worlds[row->place]);
		if (!make_theirs(s, row->place))
			continue;
		if (!str_starts(s->call, "kubernetes:"))
			lab_wait(&w.s.l, 5000);
		ok = plan(row, &e);
		if (maker->ours && !is_of_one_operation(s)) {
			cr_expect(ok || e.code != ERR_FOREIGN_OBJECT,
				  "%s, %s %s: of %s, and refused: %s", row->kind, s->step,
				  s->call, maker->name, e.detail);
			continue;
		}
		if (ok && may_be_there(s)) {
			expect_untouched(row, s);
			continue;
		}
		cr_expect(!ok && e.code == ERR_FOREIGN_OBJECT,
			  "%s, %s %s: of %s, and not refused: %s", row->kind, s->step,
			  s->call, maker->name, ok ? "ok" : e.detail);
		cr_expect_eq(
			n_sent, 0, "%s, %s %s: refused after %d calls, the first is %s",
			row->kind, s->step, s->call, n_sent, n_sent ? sent[0].call : "");
		cr_expect(ok || maker->ours || says_whose(&e),
			  "%s, %s %s: the refusal does not say whose it is (%s): %s",
			  row->kind, s->step, s->call, maker->name,
			  e.n_causes ? e.cause[0].message : "no cause");
	}
}

Test(cloud_foreign, nothing_is_sent_before_what_is_somebody_elses_is_refused)
{
	truth_build();
	truth_wrap_plans(noting_plan);
	for (const struct truth_row *row = truth_rows; row->kind; row++)
		look_at(row);
	for (size_t i = 0; i < N_SHARED; i++)
		cr_expect(shared[i].used, "%s is refused after all: take the row out",
			  shared[i].call);
	truth_free();
}

/* --- what goes ------------------------------------------------------------------------
 *
 * The same of removals: of each thing that a plan would delete the mark that says that
 * it is ours is taken away; then no plan deletes it, be it refused or left alone.
 */

static const struct {
	const char *call, *table, *id; /* member of the request with the thing's id */
	const char *tags;              /* member of the stored thing */
} removers[] = {
	{"sagemaker:DeleteCluster", "sagemaker.cluster", "ClusterName", "_tags"},
	{"iam:DeleteRole", "iam.role", "RoleName", "_tags"},
	{"iam:DetachRolePolicy", "iam.role", "RoleName", "_tags"},
	{"iam:DeleteRolePolicy", "iam.role", "RoleName", "_tags"},
	{"s3:DeleteBucket", "s3.bucket", "Bucket", "_tags"},
	{"ec2:DeleteSubnet", "ec2.subnet", "SubnetId", "Tags"},
	{"cloudformation:DeleteStack", "cloudformation.stack", "StackName", "Tags"},
};

/* What goes all the same, and why. */
static struct gone {
	const char *step, *call, *why;
	int used;
} gone[] = {
	{"tls_bucket_remove", "s3:DeleteBucket",
	 "an empty one of that name is what a stop before its tag leaves", 0},
	{"delete_certificate_bucket", "s3:DeleteBucket",
	 "an empty one of that name is what a stop before its tag leaves", 0},
	{"delete", "kubernetes:delete hyperpodnodeclasses",
	 "classes of others are listed too, and the caller names the one to delete", 0},
	{"delete", "kubernetes:delete nodepools",
	 "pools of others are listed too, and the caller names the one to delete", 0},
};
enum { N_GONE = sizeof(gone) / sizeof(gone[0]) };

/* Never what another installation says is its own. */
static bool may_go_of(size_t i)
{
	return streq(gone[i].call, "s3:DeleteBucket")
		       ? !maker->cluster
		       : !streq(maker->installation, "there");
}

static bool may_go(const struct sent *s)
{
	for (size_t i = 0; i < N_GONE; i++)
		if (streq(s->step, gone[i].step) && streq(s->call, gone[i].call) &&
		    may_go_of(i)) {
			gone[i].used++;
			return true;
		}
	return false;
}

static json_t *stored(const char *table, const char *id)
{
	json_t *o = cloud_get(w.s.l.cloud, table, id), *v;
	const char *key;

	if (o)
		return o;
	json_object_foreach(cloud_table(w.s.l.cloud, table), key, v)
		if (streq(json_str_at(v, "StackName"), id) ||
		    streq(json_str_at(v, "StackId"), id))
			return v;
	return NULL;
}

/* What else it is tagged with stays. */
static void put_tags(json_t *o, const char *member)
{
	json_t *old = json_incref(json_object_get(o, member)), *tags, *tag;
	size_t i;

	tags = their_tags(json_is_object(old));
	json_array_foreach(old, i, tag)
		if (!str_starts(json_str_or(tag, "Key", ""), "instantstart:cluster") &&
		    !str_starts(json_str_or(tag, "Key", ""),
				"instantstart:installation") &&
		    !str_starts(json_str_or(tag, "Key", ""), "instantstart:operation"))
			json_array_append(tags, tag);
	json_object_set_new(o, member, tags);
	json_decref(old);
}

static bool take_mark(const struct sent *s)
{
	const json_t *in = json_at(s->request, "input");

	if (str_starts(s->call, "kubernetes:delete ")) {
		json_t *o = cloud_kube_get(w.s.l.cloud, "demo",
					   json_str_at(s->request, "api"),
					   json_str_at(s->request, "resource"),
					   json_str_at(s->request, "namespace"),
					   json_str_at(s->request, "name"));

		if (!o || !json_at(o, "metadata.labels"))
			return false;
		put_labels(o);
		return true;
	}
	for (size_t i = 0; i < sizeof(removers) / sizeof(removers[0]); i++) {
		json_t *o;

		if (!streq(s->call, removers[i].call))
			continue;
		o = stored(removers[i].table, json_str_at(in, removers[i].id));
		cr_assert(o, "%s %s", s->call, json_text(&w.arena, in));
		put_tags(o, removers[i].tags);
		return true;
	}
	return false;
}

static bool is_planned(const struct sent *s)
{
	for (int i = 0; i < n_sent; i++)
		if (streq(sent[i].call, s->call) &&
		    json_equal(sent[i].request, s->request))
			return true;
	return false;
}

static int look_at_removals(const struct truth_row *row)
{
	struct err e = {0};
	struct sent all[SENT_MAX];
	int n, marked = 0;

	truth_world(row);
	cr_assert(plan(row, &e), "%s: %s", row->kind, e.detail);
	n = n_sent;
	memcpy(all, sent, sizeof(all));
	for (int i = 0; i < n * N_MAKERS; i++) {
		const struct sent *s = &all[i / N_MAKERS];

		maker = &all_makers[i % N_MAKERS];
		cloud_restore(w.s.l.cloud, w.worlds[row->place]);
		if (!take_mark(s))
			continue;
		marked++;
		(void)plan(row, &e);
		if (maker->ours)
			cr_expect(is_planned(s), "%s, %s: %s of %s stays", row->kind,
				  s->step, s->call, maker->name);
		else
			cr_expect(!is_planned(s) || may_go(s),
				  "%s, %s: %s %s goes, made by %s", row->kind, s->step,
				  s->call,
				  json_text(&w.arena, json_at(s->request, "input")),
				  maker->name);
	}
	return marked;
}

Test(cloud_foreign, nothing_goes_that_does_not_say_that_it_is_ours)
{
	int marked = 0;

	truth_build();
	truth_wrap_plans(noting_plan);
	for (const struct truth_row *row = truth_rows; row->kind; row++)
		marked += look_at_removals(row);
	cr_expect_gt(marked, 8 * N_MAKERS, "%d things", marked);
	for (size_t i = 0; i < N_GONE; i++)
		cr_expect(gone[i].used, "%s %s stays after all: take the row out",
			  gone[i].step, gone[i].call);
	truth_free();
}
