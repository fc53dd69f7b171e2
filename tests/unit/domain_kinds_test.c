/* Properties of every operation kind's table: a new row is in here by being there. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/domain/capability.h"

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
