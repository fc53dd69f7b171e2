/*
 * Every crash point, every fault of every mutation, cancel at every instant,
 * and seeded random runs.
 *
 *   FAULTS_DB='host=… user=…' crash_test [small|cloud] [--sample N] [--seed S] [--runs N]
 * [-v]
 *
 * Without --sample everything is run. A sample is printed, and so is what fails,
 * with the arguments that run it again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/str.h"
#include "tests/faults/harness.h"

struct options {
	int64_t sample; /* 0: all */
	int64_t seed;
	int64_t runs;     /* random ones for each scenario */
	int64_t only_run; /* with --seed: this one alone */
	bool verbose;
	const struct fault_world *world;
};

struct tally {
	int points;
	int faults;
	int cancels;
	int random;
	int failed;
	int skipped;
};

/* What an undisturbed run comes to. */
struct reference {
	const char *signature;
	struct spot spot[SPOTS_MAX];
	int n_spots;
	int n_mutations;
};

static void report(struct harness *h, struct tally *t, const char *what, const char *why)
{
	if (++t->failed <= 20)
		printf("faults: FAILED %s, %s: %s\n", h->scenario->kind, what, why);
}

static void clear(struct harness *h)
{
	h->act = ACT_NONE;
	h->at = h->fault_nth = h->fault = 0;
	h->random_permille = 0;
}

/* A run must end as the undisturbed one did, and break no invariant. */
static void judge(struct harness *h, const struct scenario *s,
		  const struct reference *ref, struct tally *t, const char *what)
{
	const char *got;

	if (!harness_run(h, s)) {
		report(h, t, what, h->why);
		return;
	}
	if (!ref)
		return;
	got = harness_signature(h);
	if (!streq(got, ref->signature)) {
		report(h, t, what, "another end state");
		printf("--- expected\n%s--- got\n%s---\n", ref->signature, got);
	}
}

/* Whether the sample takes this one: a fixed share, picked by the seed. */
static bool is_picked(const struct options *o, struct rng *rng, struct tally *t,
		      int total)
{
	if (o->sample == 0 || total <= o->sample ||
	    (int64_t)rng_below(rng, (uint64_t)total) < o->sample)
		return true;
	t->skipped++;
	return false;
}

static bool learn(struct harness *h, const struct scenario *s, struct reference *ref,
		  struct tally *t)
{
	clear(h);
	if (!harness_run(h, s)) {
		report(h, t, "undisturbed", h->why);
		return false;
	}
	ref->signature = arena_strdup(&h->arena, harness_signature(h));
	memcpy(ref->spot, h->spot, sizeof(ref->spot));
	ref->n_spots = h->n_spots;
	ref->n_mutations = h->world->mutations(h);
	return true;
}

static void at_points(struct harness *h, const struct scenario *s,
		      const struct reference *ref, const struct options *o,
		      struct rng *rng, struct tally *t)
{
	char what[128];

	for (int act = ACT_CRASH; act < ACT_COUNT_; act++) {
		for (int at = 1; at <= ref->n_spots; at++) {
			const struct spot *p = &ref->spot[at - 1];

			if (!is_picked(o, rng, t, ref->n_spots * 4))
				continue;
			clear(h);
			h->act = (enum act)act;
			h->at = at;
			snprintf(what, sizeof(what), "%s at %s of %s (point %d)",
				 act_name(h->act), p->point, p->step->name, at);
			if (o->sample || o->verbose)
				printf("faults: %s, %s\n", s->kind, what);
			/* A cancelled run ends otherwise; invariants judge it. */
			judge(h, s, act == ACT_CRASH || act == ACT_STALL ? ref : NULL, t,
			      what);
			if (act == ACT_CRASH || act == ACT_STALL)
				t->points += h->acted;
			else
				t->cancels += h->acted;
		}
	}
}

static void at_mutations(struct harness *h, const struct scenario *s,
			 const struct reference *ref, const struct options *o,
			 struct rng *rng, struct tally *t)
{
	char what[128];

	for (int fault = 1; fault < h->world->n_faults; fault++) {
		for (int nth = 1; nth <= ref->n_mutations; nth++) {
			if (!is_picked(o, rng, t, ref->n_mutations * 4))
				continue;
			clear(h);
			h->fault_nth = nth;
			h->fault = fault;
			snprintf(what, sizeof(what), "%s at mutation %d",
				 h->world->fault_name(fault), nth);
			if (o->sample || o->verbose)
				printf("faults: %s, %s\n", s->kind, what);
			judge(h, s, ref, t, what);
			t->faults++;
		}
	}
}

/* Crashes, stalls and faults everywhere; one seed is one run. */
static void at_random(struct harness *h, const struct scenario *s,
		      const struct reference *ref, const struct options *o,
		      struct tally *t)
{
	char what[128];

	for (int64_t run = 0; run < o->runs; run++) {
		if (o->only_run >= 0 && run != o->only_run)
			continue;
		clear(h);
		h->random_permille = 60;
		rng_seeded_init(&h->rng, (uint64_t)(o->seed * 1000003 + run));
		snprintf(what, sizeof(what), "random (--seed %lld --run %lld)",
			 (long long)o->seed, (long long)run);
		judge(h, s, ref, t, what);
		t->random++;
	}
}

static void read_options(struct options *o, int argc, char **argv)
{
	*o = (struct options){
		.runs = 60, .seed = 1, .only_run = -1, .world = &small_world};
	for (int i = 1; i < argc; i++) {
		int64_t *number = streq(argv[i], "--sample") ? &o->sample
				  : streq(argv[i], "--seed") ? &o->seed
				  : streq(argv[i], "--runs") ? &o->runs
				  : streq(argv[i], "--run")  ? &o->only_run
							     : NULL;

		if (streq(argv[i], "-v")) {
			o->verbose = true;
		} else if (streq(argv[i], cloud_world.name)) {
			o->world = &cloud_world;
		} else if (streq(argv[i], small_world.name)) {
			o->world = &small_world;
		} else if (!number || i + 1 == argc ||
			   !str_to_i64(str_of(argv[++i]), number)) {
			fprintf(stderr,
				"usage: crash_test [small|cloud] [--sample N] [--seed S] [--runs N] "
				"[--run N] [-v]\n");
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	static struct harness h;
	static struct reference ref;
	const char *url = getenv("FAULTS_DB");
	struct options o;
	struct tally t = {0};
	struct rng_seeded pick;
	const time_t start = time(NULL);

	read_options(&o, argc, argv);
	if (!url) {
		fprintf(stderr,
			"crash_test: FAULTS_DB names no database; see tests/faults/run\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	harness_init(&h, o.world, url);
	rng_seeded_init(&pick, (uint64_t)o.seed);
	for (const struct scenario *s = o.world->scenarios; s->kind; s++) {
		if (!learn(&h, s, &ref, &t))
			continue;
		if (o.only_run < 0) {
			at_points(&h, s, &ref, &o, &pick.rng, &t);
			at_mutations(&h, s, &ref, &o, &pick.rng, &t);
		}
		at_random(&h, s, &ref, &o, &t);
	}
	printf("faults: %s world: %d crash and stall points, %d faults of mutations, %d cancels, "
	       "%d random runs; %d not in the sample; %d failed; %lld s\n",
	       h.world->name, t.points, t.faults, t.cancels, t.random, t.skipped,
	       t.failed, (long long)(time(NULL) - start));
	harness_free(&h);
	return t.failed ? 1 : 0;
}
