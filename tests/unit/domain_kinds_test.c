/* Properties of every operation kind's table: a new row is in here by being there. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/domain/capability.h"
#include "core/json/tree.h"

Test(kinds, tables)
{
	for (const struct kind *const *k = kinds; *k; k++) {
		const int64_t whole = (*k)->deadline_s ? (*k)->deadline_s : 6 * 3600;

		cr_expect(((*k)->undo != NULL) != ((*k)->no_undo != NULL),
			  "%s: either an undo or a sentence why there is none",
			  (*k)->name);
		for (const struct step *s = (*k)->steps; s->name; s++) {
			const struct step *again =
				s->retry_step ? kind_step(*k, s->retry_step) : s;
			const char *at = s->name;

			cr_expect(again && again <= s, "%s/%s: a retry goes back",
				  (*k)->name, at);
			/* Our patience never ends before the cloud's own deadline. */
			if (s->wait) {
				cr_expect(s->wait->rule && *s->wait->rule, "%s/%s",
					  (*k)->name, at);
				cr_expect(step_deadline_s(s) > s->wait->cloud_s, "%s/%s",
					  (*k)->name, at);
			}
			cr_expect(step_deadline_s(s) <= whole,
				  "%s/%s may wait longer than its operation", (*k)->name,
				  at);
			/* Whoever waits longer than usual says by which rule. */
			cr_expect(!s->deadline_s || s->effect != EFFECT_READ || s->wait,
				  "%s/%s waits by no rule", (*k)->name, at);
			if (s->leaves)
				cr_expect(s->effect != EFFECT_READ &&
						  (s->leaves->tell || s->leaves->no_stop),
					  "%s/%s: how is it stopped?", (*k)->name, at);
			cr_expect(!(s->choice && s->effect != EFFECT_READ),
				  "%s/%s chooses and sends", (*k)->name, at);
		}
	}
}

/* As if every call had been taken, and nothing had been there before. */
static json_t *all_sent(struct arena *a, const struct kind *k)
{
	json_t *data = json_packf(a, "{s:{}, s:b, s:b, s:i, s:{s:b, s:b}, s:{s:{s:b}}}",
				  "_left", "was_there", 0, "was_on", 0, "_before_count",
				  1, "begun", "training_operator", 1, "autoscaling", 1,
				  "before", "training_operator", "enabled", 0);

	for (const struct step *s = k->steps; s->name; s++)
		json_object_set_new(json_object_get(data, "_left"), s->name,
				    json_pack("{s:s}", "step", s->name));
	return data;
}

static bool asks_a_word(const struct kind *k, int depth)
{
	for (const struct step *s = k->steps; s->name; s++)
		if (s->stakes || (s->spawn && depth == 0))
			return true;
	return false;
}

/*
 * What was wanted before comes back, or a sentence says why not; and an undo that takes
 * something away is of a kind that asks who uses it, so that the cancel asks for a word.
 */
Test(kinds, an_undo_is_an_operation_that_asks_or_a_reason)
{
	static const struct where where = {
		.account = "111122223333", .region = "us-west-2", .partition = "aws"};
	static struct config cfg;

	for (const struct kind *const *k = kinds; *k; k++) {
		struct spawn sp = {0};
		struct arena a;
		struct step_ctx c = {.arena = &a,
				     .cfg = &cfg,
				     .where = &where,
				     .op_id = "op_1",
				     .root_id = "op_1",
				     .target = "demo",
				     .step = (*k)->steps};

		if ((*k)->no_undo) {
			const size_t n = strlen((*k)->no_undo);

			cr_expect(n > 20 && (*k)->no_undo[n - 1] == '.', "%s: %s",
				  (*k)->name, (*k)->no_undo);
			continue;
		}
		arena_init(&a, 0);
		c.data = all_sent(&a, *k);
		c.input = json_packf(&a, "{s:s, s:s, s:b, s:s, s:i, s:{s:b}}", "name",
				     "x", "group_name", "g", "enabled", 1, "feature",
				     strstr((*k)->name, "set_") ? (*k)->name + 4 : "",
				     "count", 2, "training_operator", "enabled", 1);
		c.seen = json_new_object(&a);
		c.events = json_new_list(&a);
		cr_expect((*k)->undo(&c, &sp) && kind_find(kinds, sp.kind),
			  "%s is not undone", (*k)->name);
		if (sp.kind)
			cr_expect(asks_a_word(kind_find(kinds, sp.kind), 0),
				  "%s, by which %s is undone, asks nobody", sp.kind,
				  (*k)->name);
		arena_free(&a);
	}
}

/* A choice that no retry comes back to is frozen. */
Test(kinds, choices_are_reached_by_a_retry)
{
	for (const struct kind *const *k = kinds; *k; k++)
		for (const struct step *c = (*k)->steps; c->name; c++) {
			bool reached = !c->choice;

			for (const struct step *s = c; s->name && !reached; s++) {
				const struct step *again =
					s->retry_step ? kind_step(*k, s->retry_step)
						      : NULL;

				reached = again && again <= c && c < s;
			}
			cr_expect(reached, "%s/%s: no retry chooses again", (*k)->name,
				  c->name);
		}
}

/*
 * Waits for a desired value see that somebody else moves it (moved). The others wait
 * for an end of their own, which nobody else can move; each says which.
 */
static const struct {
	const char *kind, *step; /* NULL: in every kind */
	const char *end;
} unmoved[] = {
	{NULL, "read_eks", "a look; a control plane that changes comes to an end"},
	{NULL, "check_access", "a look"},
	{NULL, "check_feature", "a look"},
	{NULL, "refuse_users", "a look"},
	{NULL, "check_users", "a look"},
	{NULL, "judge", "a look"},
	{NULL, "conclude", "sums up what the rows before have seen"},
	{"create_eks_control_plane", "wait_api", "an address that comes to answer"},
	/* One that is gone is installed again by the row before. */
	{"reconcile_dependencies", "hyperpod_wait", "the release, or its install"},
	{"reconcile_dependencies", "kuberay_wait", "the release, or its install"},
	{"reconcile_dependencies", "load_balancers_wait", "the release, or its install"},
	{NULL, "cert_manager_node", "a node that takes pods"},
	{NULL, "cert_manager_webhook", "a webhook that comes to answer"},
	{"create_s3_storage", "wait_probe", "a job of ours that runs to its end"},
	/* Who names nodes wants these; what becomes of their group is no goal of his. */
	{NULL, "await_nodes", "nodes by their names, gone ones too"},
};

static bool is_unmoved(const char *kind, const char *step)
{
	for (size_t i = 0; i < sizeof(unmoved) / sizeof(unmoved[0]); i++)
		if ((!unmoved[i].kind || streq(unmoved[i].kind, kind)) &&
		    streq(unmoved[i].step, step))
			return true;
	return false;
}

Test(kinds, a_wait_for_a_desired_value_sees_that_it_is_moved)
{
	int n = 0;

	for (const struct kind *const *k = kinds; *k; k++)
		for (const struct step *s = (*k)->steps; s->name; s++) {
			n += s->wait && s->wait->moved;
			if (s->wait && s->effect == EFFECT_READ && !s->wait->moved)
				cr_expect(is_unmoved((*k)->name, s->name),
					  "%s/%s does not see that its goal is moved",
					  (*k)->name, s->name);
		}
	cr_expect_geq(n, 15);
}
