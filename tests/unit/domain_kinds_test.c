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
