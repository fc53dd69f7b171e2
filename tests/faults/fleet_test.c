/*
 * Two hundred requests on one cluster at once, with others at work on it, faults,
 * crashes, and answers at random; one seed is one run.
 *
 *   FAULTS_DB='host=… user=…' fleet_test [--seed S] [--runs N] [--requests N]
 *   [--permille N] [--twice] [-v]
 *
 * What fails is printed with the seed that runs it again; --twice runs each seed a
 * second time and compares all that has arrived at the cloud.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/domain/node/refresh.h"
#include "core/json/tree.h"
#include "tests/faults/fleet.h"

struct options {
	int64_t seed, runs, requests, permille;
	bool twice, verbose;
};

static int64_t below(struct fleet *f, int64_t n)
{
	return (int64_t)rng_below(&f->rng.rng, (uint64_t)n);
}

/* --- ends ------------------------------------------------------------------------- */

static void note_end(struct fleet *f, const char *id, const char *kind, const char *state,
		     const char *code)
{
	const char *key = code ? arena_printf(&f->h->run, "%s %s", kind, code)
			       : arena_printf(&f->h->run, "%s %s", kind, state);
	const int64_t n = json_integer_value(json_object_get(f->ends, key));

	json_object_set_new(f->ends, key, json_integer(n + 1));
	json_object_set_new(fleet_op(f, id), "ended", json_true());
	if (streq(state, "succeeded"))
		fleet_judge_success(f, id);
	else
		fleet_check_wanted(f, id);
	if (streq(state, "succeeded"))
		return;
	if (streq(code, "internal"))
		harness_blame(f->h, "%s (%s) failed by a fault of ours", id, kind);
	else if (f->quiet)
		harness_blame(f->h, "when all was quiet %s (%s) was %s: %s", id, kind,
			      state, code ? code : "");
	else if (streq(state, "failed") && !f->quiet && below(f, 4) == 0 &&
		 fleet_order(f, journal_retry, id, json_packf(&f->h->run, "{}"))) {
		f->retries++;
		fleet_cut(f, id);
		json_object_del(f->ops, id);
	}
}

static void note_ends(struct fleet *f)
{
	const struct db_rows rows = harness_query(
		f->h,
		"select id, kind, state, error->>'code' as code, error->>'detail' as detail "
		"from operation where ended_at is not null and ended_at >= j_now() - "
		"interval '1 minute' order by ended_at, id",
		NULL);

	arena_reset(&f->arena);
	for (int i = 0; i < rows.n; i++) {
		const char *id = db_text(&rows, i, "id");

		if (json_bool_or(fleet_op(f, id), "ended", false))
			continue;
		if (f->verbose)
			printf("fleet: %s %s %s: %s\n", id, db_text(&rows, i, "kind"),
			       db_text(&rows, i, "state"),
			       db_text(&rows, i, "detail") ? db_text(&rows, i, "detail")
							   : "");
		note_end(f, id, db_text(&rows, i, "kind"), db_text(&rows, i, "state"),
			 db_text(&rows, i, "code"));
	}
}

/* --- time ---------------------------------------------------------------------------
 */

static struct db_rows look(struct fleet *f)
{
	return harness_query(
		f->h,
		"select j_ms(coalesce(min(due_at) filter (where due_at < 'infinity' and not "
		"queued), min(due_at) filter (where due_at < 'infinity'))) as due_ms, "
		"count(*) filter (where parent_id is null) as open, "
		"count(*) filter (where held_at is not null) as held from operation "
		"where ended_at is null",
		NULL);
}

static void tick(struct fleet *f, int64_t due_ms)
{
	struct harness *h = f->h;
	struct instance *i = &h->inst[below(f, INSTANCES)];

	if (due_ms > h->clock.wall)
		clock_manual_advance(&h->clock, due_ms - h->clock.wall);
	fleet_outside(f);
	arena_reset(&f->arena);
	(void)harness_tick_or_die(i);
	cloud_advance(lab(h)->cloud);
	arena_reset(&f->arena);
	/* From its first claim on somebody else may win a race against it. */
	if (h->cur->op[0])
		(void)fleet_op(f, h->cur->op);
	fleet_sync(f, FLEET_CLOUD);
	note_ends(f);
}

/* False: all that was sent has ended. */
static bool move(struct fleet *f)
{
	const struct db_rows now = look(f);
	int64_t open, held;

	if (f->h->why)
		return false;
	open = db_int(&now, 0, "open");
	held = db_int(&now, 0, "held");
	f->most_open = open > f->most_open ? open : f->most_open;
	if (f->sent < f->n_requests && open < FLEET_OPEN &&
	    (open == 0 || below(f, 3) == 0)) {
		fleet_request_one(f);
		return true;
	}
	if (held > 0 && (!db_text(&now, 0, "due_ms") || below(f, 8) == 0)) {
		fleet_answer(f);
		return true;
	}
	if (open == 0)
		return false;
	if (!f->quiet && below(f, 150) == 0)
		fleet_cancel(f);
	if (db_text(&now, 0, "due_ms"))
		tick(f, db_int(&now, 0, "due_ms"));
	else
		harness_blame(f->h, "I4: live, but never due");
	return true;
}

static void go_on(struct fleet *f)
{
	enum { MOVES_MAX = 100000 };

	for (int n = 0; !f->h->why && move(f); n++)
		if (n == MOVES_MAX)
			harness_blame(f->h, "I4: no end after %d moves", n);
}

/* --- one run ------------------------------------------------------------------------
 */

static void calm(struct fleet *f)
{
	f->h->random_permille = 0;
	cloud_clear_faults(lab(f->h)->cloud);
	f->quiet = true;
	fleet_outside(f);
}

/* Everything that was added goes again, by the same requests. */
static void clear_away(struct fleet *f)
{
	static const char *const features[] = {"tiered_checkpointing",
					       "training_operator", "inference_operator",
					       "autoscaling"};
	json_t *off = json_packf(&f->h->run, "{s:b, s:b}", "adopt", 1,
				 "install_prerequisites", 1);
	json_t *g;
	size_t i;

	/* One after the other: what is asked for at one instant has no order. */
	fleet_submit(f, "delete_node_pool",
		     json_packf(&f->h->run, "{s:s}", "name", "train"), true);
	go_on(f);
	fleet_submit(f, "delete_node_class",
		     json_packf(&f->h->run, "{s:s}", "name", "gpu"), true);
	go_on(f);
	for (i = 0; i < 4; i++)
		json_put(off, features[i], json_pack("{s:b}", "enabled", 0));
	fleet_submit(f, "update_features", off, true);
	json_array_foreach(json_at(fleet_cluster(f), "InstanceGroups"), i, g)
		if (!streq(json_str_at(g, "InstanceGroupName"), "workers"))
			fleet_submit(f, "delete_instance_group",
				     json_packf(&f->h->run, "{s:s}", "group_name",
						json_str_or(g, "InstanceGroupName", "")),
				     true);
	go_on(f);
}

static int64_t rounds(struct fleet *f)
{
	const struct db_rows rows = harness_query(
		f->h,
		"select coalesce(max(round), 0) as n from refresh where phase = 'idle'",
		NULL);

	return db_int(&rows, 0, "n");
}

/* What is gone two whole rounds have not seen. */
static void refresh(struct fleet *f)
{
	enum { TICKS = 200, ROUNDS = 3, STEP_MS = 5000 };
	struct harness *h = f->h;
	struct instance *i = &h->inst[0];
	int n = 0;

	h->cfg.refresh_ms = 30 * 1000;
	h->cfg.refresh_idle_ms = 60 * 1000;
	h->cfg.refresh_calls = 5;
	for (; n < TICKS && rounds(f) < ROUNDS && !h->why; n++) {
		struct err e = {0};
		int64_t wait_ms;
		bool worked;

		clock_manual_advance(&h->clock, STEP_MS);
		harness_sync(i);
		if (!refresh_tick(&i->r, &i->arena, &worked, &wait_ms, &e))
			harness_blame(h, "refresh: %s", e.detail);
		arena_reset(&i->arena);
	}
	if (n == TICKS)
		harness_blame(h, "the refresh does not come to its end");
}

/* Of those that were before us nothing is asked. */
static void pass_over(struct fleet *f)
{
	const struct db_rows rows = harness_query(f->h, "select id from operation", NULL);

	for (int i = 0; i < rows.n; i++)
		json_object_set_new(fleet_op(f, db_text(&rows, i, "id")), "ended",
				    json_true());
}

static void begin(struct fleet *f, struct harness *h, const struct options *o,
		  int64_t seed)
{
	*f = (struct fleet){.h = h,
			    .seed = (uint64_t)seed,
			    .verbose = o->verbose,
			    .n_requests = o->requests,
			    .model = json_object(),
			    .ops = json_object(),
			    .cuts = json_array(),
			    .ends = json_object(),
			    .before = json_object()};
	arena_init(&f->arena, 0);
	rng_seeded_init(&f->rng, (uint64_t)seed);
	/* The world to begin from is the same for every seed. */
	rng_seeded_init(&h->rng, 1);
	if (!harness_begin_after(h, &cloud_pipeline))
		return;
	rng_seeded_init(&h->rng, (uint64_t)seed * 7919 + 1);
	(void)harness_query(h, "truncate refresh, refresh_wish, node_use, node_change",
			    NULL);
	cloud_configure(lab(h)->cloud,
			json_packf(&h->run, "{s:{s:i, s:i, s:i}}", "quota", "L-4C3F99F6",
				   200, "L-2CE978FC", 300, "L-3308CCC7", 300));
	pass_over(f);
	h->many = true;
	h->random_permille = (unsigned)o->permille;
	h->world->set_random(h, (unsigned)o->permille * 2);
	disturb_begin(h);
	fleet_model_begin(f);
	fleet_remember(f);
	fleet_watch_this(f);
}

static void end(struct fleet *f)
{
	lab(f->h)->watch = NULL;
	crashpoint_hook = NULL;
	json_decref(f->model);
	json_decref(f->ops);
	json_decref(f->cuts);
	json_decref(f->ends);
	json_decref(f->before);
	arena_free(&f->arena);
}

static void report(struct fleet *f, const char *digest, long long seconds)
{
	const char *key;
	json_t *n;

	printf("fleet: seed %lld : %lld requests: %lld accepted, %lld the same again, %lld "
	       "refused by a lock; up to %lld open; %lld by others, %lld retries, %lld "
	       "cancels, %lld answers; %lld acts done once, %lld goals left wanted; %zu mutations, digest %.16s; %lld s\n",
	       (long long)f->seed, (long long)f->sent, (long long)f->accepted,
	       (long long)f->same, (long long)f->refused, (long long)f->most_open,
	       (long long)f->outsides, (long long)f->retries, (long long)f->cancels,
	       (long long)f->answers, (long long)f->n_spent, (long long)f->n_wanted,
	       json_array_size(cloud_ledger(lab(f->h)->cloud)), digest, seconds);
	json_object_foreach(f->ends, key, n)
		if (f->verbose)
			printf("fleet:   %s: %lld\n", key,
			       (long long)json_integer_value(n));
}

/* *ret_digest: 65 bytes. */
static bool run(struct harness *h, const struct options *o, int64_t seed,
		char *ret_digest)
{
	struct fleet f;
	const time_t start = time(NULL);
	bool ok;

	begin(&f, h, o, seed);
	go_on(&f);
	calm(&f);
	if (!h->why)
		fleet_check(&f);
	if (!h->why)
		clear_away(&f);
	if (!h->why)
		refresh(&f);
	if (!h->why)
		fleet_check_catalog(&f);
	if (!h->why)
		fleet_check_left(&f);
	ok = !h->why;
	str_copy(ret_digest, 65, fleet_digest(&f));
	report(&f, ret_digest, (long long)(time(NULL) - start));
	if (!ok)
		printf("fleet: FAILED, --seed %lld: %s\n", (long long)seed, h->why);
	end(&f);
	return ok;
}

static void read_options(struct options *o, int argc, char **argv)
{
	*o = (struct options){.seed = 1, .runs = 1, .requests = 200, .permille = 10};
	for (int i = 1; i < argc; i++) {
		int64_t *number = streq(argv[i], "--seed")       ? &o->seed
				  : streq(argv[i], "--runs")     ? &o->runs
				  : streq(argv[i], "--requests") ? &o->requests
				  : streq(argv[i], "--permille") ? &o->permille
								 : NULL;

		if (streq(argv[i], "-v")) {
			o->verbose = true;
		} else if (streq(argv[i], "--twice")) {
			o->twice = true;
		} else if (!number || i + 1 == argc ||
			   !str_to_i64(str_of(argv[++i]), number)) {
			fprintf(stderr,
				"usage: fleet_test [--seed S] [--runs N] [--requests N] "
				"[--permille N] [--twice] [-v]\n");
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	static struct harness h;
	const char *url = getenv("FAULTS_DB");
	char digest[65], again[65];
	struct options o;
	int failed = 0;

	read_options(&o, argc, argv);
	if (!url) {
		fprintf(stderr, "fleet_test: FAULTS_DB names no database; see "
				"tests/faults/run\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	harness_init(&h, &cloud_world, url);
	for (int64_t seed = o.seed; seed < o.seed + o.runs; seed++) {
		failed += !run(&h, &o, seed, digest);
		if (!o.twice)
			continue;
		failed += !run(&h, &o, seed, again);
		if (!streq(digest, again)) {
			printf("fleet: FAILED, --seed %lld: another run of it is another "
			       "one\n",
			       (long long)seed);
			failed++;
		}
	}
	harness_free(&h);
	printf("fleet: %lld runs, %d failed\n", (long long)o.runs, failed);
	return failed ? 1 : 0;
}
