/*
 * Every crash point, every fault of every mutation, cancel at every instant,
 * and seeded random runs.
 *
 *   FAULTS_DB='host=… user=…' crash_test [small|cloud] [--sample N] [--seed S]
 *   [--runs N] [--kind K] [--point P] [--mutation M] [--fault F] [--act A] [--shard I/N]
 *   [--tries] [-v]
 *
 * Without --sample everything is run; --shard takes every N-th. A sample is
 * printed, and so is what fails, with the arguments that run it again. --tries: only
 * retries of a step whose mutation has been sent and whose operation then has failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/str.h"
#include "core/domain/capability.h"
#include "tests/faults/harness.h"

struct options {
	int64_t sample; /* 0: all */
	int64_t seed;
	int64_t runs;     /* random ones for each scenario */
	int64_t only_run; /* with --seed: this one alone */
	int64_t only_point, only_mutation;
	int64_t shard, shards;
	const char *kind;  /* of the scenario's name; NULL: all */
	const char *fault; /* this fault of mutations, and nothing else; NULL: all */
	const char *act;   /* this act at points, and nothing else; NULL: all */
	bool tries;
	bool verbose;
	const struct fault_world *world;
};

enum { STAGES_MAX = 100, STAGE_EVERY = 40 };

struct tally {
	int points;
	int faults;
	int cancels;
	int moves;
	int random;
	int failed;
	int retried; /* after a failure at a mutation that was sent */
	int skipped; /* not in the sample */
	int64_t tried;
};

/* What an undisturbed run comes to. */
struct reference {
	const char *signature;
	const char *wanted; /* of the world at its end; NULL: nobody asks */
	struct spot spot[SPOTS_MAX];
	int n_spots;
	int n_mutations;
	struct stage stage[STAGES_MAX];
	int n_stages;
};

static void report(struct harness *h, struct tally *t, const char *what, const char *why)
{
	if (++t->failed <= 20)
		printf("faults: FAILED %s, %s: %s\n", h->scenario->name, what, why);
}

static void clear(struct harness *h)
{
	h->act = ACT_NONE;
	h->at = h->fault_nth = h->fault = 0;
	h->random_permille = 0;
}

/* Where two texts begin to differ. */
static void show_difference(const char *want, const char *got)
{
	enum { SHOWN = 300, BEFORE = 100 };
	size_t at = 0, line;

	while (want[at] && want[at] == got[at])
		at++;
	for (line = at; line > 0 && want[line - 1] != '\n';)
		line--;
	line = at - line > BEFORE ? at - BEFORE : line;
	printf("--- expected\n%.*s\n--- got\n%.*s\n---\n", SHOWN, want + line, SHOWN,
	       got + line);
}

/* The run goes on from there; NULL: it begins at the beginning. */
static const struct stage *before_point(const struct reference *ref, int at, int nth)
{
	const struct stage *found = NULL;

	for (int i = 0; i < ref->n_stages; i++)
		if ((at && ref->stage[i].n_spots < at) ||
		    (nth && ref->stage[i].mutations < nth))
			found = &ref->stage[i];
	return found;
}

/* Who names nodes wants these nodes: what somebody does to their group is no goal of
 * his. */
static bool has_goal(const struct scenario *s)
{
	const struct kind *k = kind_find(kinds, s->kind);

	for (const struct step *step = k ? k->steps : NULL; step && step->name; step++)
		if (step->wait && step->wait->moved)
			return true;
	return false;
}

/*
 * A moved goal is no success: either the world is asked for the same as without the
 * other one's act, or the operation has failed and says what became of its goal.
 */
static void judge_moved(struct harness *h, const struct scenario *s,
			const struct reference *ref, struct tally *t, const char *what)
{
	const struct db_rows end = harness_query(
		h,
		"select state, error->>'code' as code, error->>'detail' as detail from "
		"operation where id = $1",
		h->op);
	const char *code = db_text(&end, 0, "code");

	if (streq(db_text(&end, 0, "state"), "succeeded")) {
		if (has_goal(s) && !streq(h->world->wanted(h), ref->wanted)) {
			report(h, t, what, "succeeded with a moved goal");
			show_difference(ref->wanted, h->world->wanted(h));
		}
		return;
	}
	if (streq(code, "internal") || streq(code, "deadline") ||
	    (streq(code, "step-timeout") && h->act != ACT_IMPOSSIBLE))
		report(h, t, what,
		       arena_printf(&h->run, "a moved goal ends as %s: %s", code,
				    db_text(&end, 0, "detail")));
}

/* A run must end as the undisturbed one did, and break no invariant. */
static void judge(struct harness *h, const struct scenario *s,
		  const struct reference *ref, bool same_end, struct tally *t,
		  const char *what)
{
	const struct stage *from =
		h->random_permille ? NULL : before_point(ref, h->at, h->fault_nth);
	const char *got;

	if (!(from ? harness_resume(h, s, from) : harness_run(h, s, NULL))) {
		report(h, t, what, h->why);
		return;
	}
	if (h->moved)
		judge_moved(h, s, ref, t, what);
	/* A part that notes its failure and lets the operation go on ends as it may. */
	if (!same_end || (h->world->first_of_tries && h->fault_nth &&
			  h->fault >= h->world->first_of_tries && !h->n_retried))
		return;
	got = harness_signature(h);
	if (!streq(got, ref->signature)) {
		report(h, t, what, "another end state");
		show_difference(ref->signature, got);
	}
}

/* Whether the sample takes this one: a fixed share, picked by the seed. */
static bool is_picked(const struct options *o, struct rng *rng, struct tally *t,
		      int total)
{
	if (t->tried++ % o->shards != o->shard)
		return false;
	if (o->sample == 0 || total <= o->sample ||
	    (int64_t)rng_below(rng, (uint64_t)total) < o->sample)
		return true;
	t->skipped++;
	return false;
}

static bool learn(struct harness *h, const struct scenario *s, struct reference *ref,
		  struct tally *t)
{
	struct stages keep = {.v = ref->stage, .max = STAGES_MAX, .every = STAGE_EVERY};

	clear(h);
	rng_seeded_init(&h->rng, 1);
	if (!harness_run(h, s, &keep)) {
		report(h, t, "undisturbed", h->why);
		return false;
	}
	ref->n_stages = keep.n;
	ref->wanted =
		h->world->wanted ? arena_strdup(&h->arena, h->world->wanted(h)) : NULL;
	ref->signature = arena_strdup(&h->arena, harness_signature(h));
	memcpy(ref->spot, h->spot, sizeof(ref->spot));
	ref->n_spots = h->n_spots;
	ref->n_mutations = h->world->mutations(h);
	return true;
}

/* --- which points ------------------------------------------------------ */

static bool is_claim(const struct spot *p)
{
	return streq(p->point, "after-claim");
}

/* Whether the claim of this point did nothing but look. */
static bool is_look(const struct reference *ref, int at)
{
	while (at > 0 && !is_claim(&ref->spot[at]))
		at--;
	for (at++; at < ref->n_spots && !is_claim(&ref->spot[at]); at++)
		if (!streq(ref->spot[at].point, "after-plan") &&
		    !streq(ref->spot[at].point, "after-settle"))
			return false;
	return true;
}

/*
 * A step that waits looks again and again, in claims that are the same but for
 * the time: the first two and the last stand for them.
 */
static bool is_one_of_many(const struct reference *ref, int at)
{
	const struct spot *p = &ref->spot[at];
	int before = 0, after = 0;

	for (int i = 0; i < ref->n_spots; i++)
		if (i != at && ref->spot[i].step == p->step &&
		    streq(ref->spot[i].point, p->point) && is_look(ref, i))
			*(i < at ? &before : &after) += 1;
	return is_look(ref, at) && before >= 2 && after >= 1;
}

/* A cancel is read after a claim; wherever it comes, that is where it works. */
static bool is_wanted(const struct harness *h, const struct scenario *s,
		      const struct reference *ref, enum act act, int at)
{
	const struct spot *p = &ref->spot[at - 1];

	if (act == ACT_UNDO && !harness_can_undo(h, s))
		return false;
	if (act >= ACT_MOVED)
		return h->world->others && !s->has_stages && p->step->wait &&
		       is_claim(p) && !is_one_of_many(ref, at - 1);
	if (s->has_stages && p->in_stage &&
	    (act == ACT_CRASH || act == ACT_STALL || !is_claim(p)))
		return false;
	return !is_one_of_many(ref, at - 1);
}

static void at_points(struct harness *h, const struct scenario *s,
		      const struct reference *ref, const struct options *o,
		      struct rng *rng, struct tally *t)
{
	char what[128];

	for (int act = ACT_CRASH; act < ACT_COUNT_; act++) {
		if (o->act && !streq(o->act, act_name((enum act)act)))
			continue;
		for (int at = 1; at <= ref->n_spots; at++) {
			const struct spot *p = &ref->spot[at - 1];

			if (!is_wanted(h, s, ref, (enum act)act, at))
				continue;
			if (o->only_point ? at != o->only_point
					  : !is_picked(o, rng, t, ref->n_spots * 4))
				continue;
			clear(h);
			h->act = (enum act)act;
			h->at = at;
			snprintf(what, sizeof(what), "%s at %s of %s (point %d)",
				 act_name(h->act), p->point, p->step->name, at);
			if (o->sample || o->verbose)
				printf("faults: %s, %s\n", s->name, what);
			/* A cancelled run ends otherwise; invariants judge it. */
			judge(h, s, ref, act == ACT_CRASH || act == ACT_STALL, t, what);
			if (act == ACT_CRASH || act == ACT_STALL)
				t->points += h->acted;
			else if (act >= ACT_MOVED)
				t->moves += h->acted;
			else
				t->cancels += h->acted;
		}
	}
}

/* --- tries --------------------------------------------------------------- */

/* The step that sends the n-th mutation; NULL: none, it is one of Helm's own. */
static const struct step *sender(const struct reference *ref, int nth)
{
	for (int i = 0; i < ref->n_spots; i++)
		if (streq(ref->spot[i].point, "before-send") &&
		    ref->spot[i].mutations == nth - 1)
			return ref->spot[i].step;
	return NULL;
}

/* What a step does at its first mutation it does at all of them. */
static bool is_first_of_step(const struct reference *ref, int nth)
{
	const struct step *s = sender(ref, nth);

	for (int n = 1; s && n < nth; n++)
		if (sender(ref, n) == s)
			return false;
	return s != NULL;
}

/* That the end is right, judge() has seen; here, that it came by another try. */
static void judge_try(struct harness *h, const struct reference *ref, int nth,
		      struct tally *t, const char *what)
{
	const struct step *from = sender(ref, nth);

	if (h->n_retried > 0)
		t->retried++;
	else if (!from || !from->on_fail) /* which notes the failure and goes on */
		report(h, t, what, "it did not fail, and was not retried");
}

static void at_mutations(struct harness *h, const struct scenario *s,
			 const struct reference *ref, const struct options *o,
			 struct rng *rng, struct tally *t)
{
	char what[128];

	/* Of calls that the stages' own scenarios lose, one kind is enough. */
	const int n_faults = s->has_stages ? 2 : h->world->n_faults;

	for (int fault = 1; fault < n_faults; fault++) {
		if (o->fault && !streq(o->fault, h->world->fault_name(fault)))
			continue;
		for (int nth = 1; nth <= ref->n_mutations; nth++) {
			const bool is_try = h->world->first_of_tries &&
					    fault >= h->world->first_of_tries;

			if (is_try ? !is_first_of_step(ref, nth) : o->tries)
				continue;
			if (o->only_mutation
				    ? nth != o->only_mutation
				    : !is_picked(o, rng, t, ref->n_mutations * 4))
				continue;
			clear(h);
			h->fault_nth = nth;
			h->fault = fault;
			snprintf(what, sizeof(what), "%s at mutation %d",
				 h->world->fault_name(fault), nth);
			if (o->sample || o->verbose)
				printf("faults: %s, %s\n", s->name, what);
			judge(h, s, ref, true, t, what);
			t->faults++;
			if (is_try)
				judge_try(h, ref, nth, t, what);
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
		if (o->only_run >= 0 ? run != o->only_run
				     : t->tried++ % o->shards != o->shard)
			continue;
		clear(h);
		h->random_permille = 60;
		rng_seeded_init(&h->rng, (uint64_t)(o->seed * 1000003 + run));
		snprintf(what, sizeof(what), "random (--seed %lld --run %lld)",
			 (long long)o->seed, (long long)run);
		judge(h, s, ref, true, t, what);
		t->random++;
	}
}

static _Noreturn void usage(void)
{
	fprintf(stderr,
		"usage: crash_test [small|cloud] [--sample N] [--seed S] [--runs N] "
		"[--run N] [--kind K] [--point P] [--mutation M] [--fault F] [--act A] "
		"[--shard I/N] [--tries] [-v]\n");
	exit(2);
}

static void read_options(struct options *o, int argc, char **argv)
{
	*o = (struct options){.runs = 12,
			      .seed = 1,
			      .only_run = -1,
			      .shards = 1,
			      .world = &small_world};
	for (int i = 1; i < argc; i++) {
		int64_t *number = streq(argv[i], "--sample")     ? &o->sample
				  : streq(argv[i], "--seed")     ? &o->seed
				  : streq(argv[i], "--runs")     ? &o->runs
				  : streq(argv[i], "--run")      ? &o->only_run
				  : streq(argv[i], "--point")    ? &o->only_point
				  : streq(argv[i], "--mutation") ? &o->only_mutation
								 : NULL;

		if (streq(argv[i], "-v")) {
			o->verbose = true;
		} else if (streq(argv[i], "--tries")) {
			o->tries = true;
		} else if (streq(argv[i], cloud_world.name)) {
			o->world = &cloud_world;
		} else if (streq(argv[i], small_world.name)) {
			o->world = &small_world;
		} else if (streq(argv[i], "--kind") && i + 1 < argc) {
			o->kind = argv[++i];
		} else if (streq(argv[i], "--fault") && i + 1 < argc) {
			o->fault = argv[++i];
		} else if (streq(argv[i], "--act") && i + 1 < argc) {
			o->act = argv[++i];
		} else if (streq(argv[i], "--shard") && i + 1 < argc) {
			struct str n = str_of(argv[++i]);

			if (!str_to_i64(str_cut(&n, '/'), &o->shard) ||
			    !str_to_i64(n, &o->shards))
				usage();
		} else if (!number || i + 1 == argc ||
			   !str_to_i64(str_of(argv[++i]), number)) {
			usage();
		}
	}
}

static void run_scenario(struct harness *h, const struct scenario *s,
			 struct reference *ref, const struct options *o, struct rng *rng,
			 struct tally *t)
{
	const struct tally before = *t;
	const time_t start = time(NULL);

	if (!learn(h, s, ref, t))
		return;
	if (o->only_run < 0) {
		if (!o->only_mutation && !o->fault && !o->tries)
			at_points(h, s, ref, o, rng, t);
		if (!o->only_point && !o->act)
			at_mutations(h, s, ref, o, rng, t);
	}
	if (!o->fault && !o->act && !o->tries)
		at_random(h, s, ref, o, t);
	for (int i = 0; i < ref->n_stages; i++)
		h->world->drop(ref->stage[i].world);
	stages_drop(h, ref->stage[0].number);
	printf("faults: %s: %d points and %d mutations in a run; %d crashes and stalls, "
	       "%d faults, %d cancels, %d moved goals, %d random runs; %d failed; %lld s\n",
	       s->name, ref->n_spots, ref->n_mutations, t->points - before.points,
	       t->faults - before.faults, t->cancels - before.cancels,
	       t->moves - before.moves, t->random - before.random,
	       t->failed - before.failed, (long long)(time(NULL) - start));
}

/* One line of words and numbers: tests/faults/run adds those of its shards up. */
static void print_total(const struct harness *h, const struct options *o,
			const struct tally *t, long long seconds)
{
	const int done = t->points + t->faults + t->cancels + t->moves;

	printf("faults: %s world: %d of %d points and faults, seed %lld : %d crashes and "
	       "stalls, %d faults of mutations, %d of them retried, %d cancels, %d moved "
	       "goals, and %d random runs; %d failed; %lld s of work\n",
	       h->world->name, done, done + t->skipped, (long long)o->seed, t->points,
	       t->faults, t->retried, t->cancels, t->moves, t->random, t->failed,
	       seconds);
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
	for (const struct scenario *s = o.world->scenarios; s->kind; s++)
		if (!o.kind || streq(o.kind, s->name))
			run_scenario(&h, s, &ref, &o, &pick.rng, &t);
	print_total(&h, &o, &t, (long long)(time(NULL) - start));
	harness_free(&h);
	return t.failed ? 1 : 0;
}
