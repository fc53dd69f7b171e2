/*
 * Toggles: every order, and from every state that a stop leaves.
 *
 * A set of features has one state of the cloud, whatever the way to it: shown for
 * every step from set to set, which makes it true of every order. FEATURES_ALL=1
 * stops before every call of every step from every set; otherwise a fixed share.
 */
#include "tests/unit/cloud_features_world.h"

static bool takes_all(void)
{
	return getenv("FEATURES_ALL") != NULL;
}

Test(cloud_features, every_order_of_on_and_off_comes_to_the_same)
{
	learn();
	for (unsigned set = 0; set < SETS; set++) {
		if (!w.save[set])
			continue;
		world_go(&w, set);
		world_set(&w, known_features(), set, false, 0);
		expect_set(set, "as it is");
		cr_expect_eq(w.o.mutations, 0, "%s twice: %d calls\n%s", names_of(set),
			     w.o.mutations, w.o.log);
		for (unsigned i = 0; i < FEATURES_; i++) {
			const unsigned f = 1U << i;

			if (!(set & f))
				continue;
			world_go(&w, set);
			world_set(&w, f, 0, false, 0);
			expect_set(set & ~f,
				   arena_printf(&w.s.l.arena, "disable %s from %s",
						features[i].name, names_of(set)));
		}
	}
	world_free(&w);
}

/* --- stopped anywhere ----------------------------------------------------------------
 */

/* From a half-made state both ways lead to their ends. */
static void both_ways(unsigned others, unsigned f, const char *how)
{
	json_t *half = cloud_save(w.s.l.cloud);

	world_set(&w, f, f, false, 0);
	expect_set(others | f, arena_printf(&w.s.l.arena, "%s, then enabled", how));
	cloud_restore(w.s.l.cloud, half);
	world_set(&w, f, 0, false, 0);
	expect_set(others, arena_printf(&w.s.l.arena, "%s, then disabled", how));
	json_decref(half);
}

static void stop_everywhere(unsigned others, unsigned f, bool on)
{
	const unsigned from = on ? others : others | f;
	int n;

	world_go(&w, from);
	world_set(&w, f, on ? f : 0, false, 0);
	n = w.o.mutations;
	for (int k = 1; k <= n; k += takes_all() ? 1 : 4) {
		world_go(&w, from);
		world_set(&w, f, on ? f : 0, false, k);
		cr_assert(w.o.stopped);
		both_ways(others, f,
			  arena_printf(&w.s.l.arena,
				       "%s %s from %s, stopped before call %d",
				       on ? "enable" : "disable", names_of(f),
				       names_of(from), k));
	}
}

Test(cloud_features, stopped_before_any_call_both_ways_lead_on)
{
	learn();
	for (unsigned others = 0; others < SETS; others++)
		for (unsigned i = 0; i < FEATURES_; i++) {
			const unsigned f = 1U << i;

			if ((others & f) || !w.save[others] || !w.save[others | f] ||
			    (others && !takes_all()))
				continue;
			stop_everywhere(others, f, true);
			stop_everywhere(others, f, false);
		}
	world_free(&w);
}
