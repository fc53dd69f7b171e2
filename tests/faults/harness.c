#include "tests/faults/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/tree.h"
#include "core/op/walk.h"
#include "gen/queries.h"

/* The lease is shorter than the world's lag: a gentle fake proves nothing. */
enum {
	LEASE_MS = 10 * 1000,
	CALL_MS = 2 * 1000,
	ROUNDS_MAX = 3000,
	RECONNECT_EVERY = 10,
};
static const int64_t start_ms = 1767225600000;

void harness_blame(struct harness *h, const char *fmt, ...)
{
	va_list ap;

	if (h->why)
		return;
	va_start(ap, fmt);
	h->why = arena_vprintf(&h->run, fmt, ap);
	va_end(ap);
}

/* *was: what the session has already; a new one has none. */
static void set_clock(struct harness *h, struct db *db, int64_t *was)
{
	struct db_rows rows;
	struct err e;

	if (*was == h->clock.wall)
		return;
	*was = h->clock.wall;
	if (!DB(db, &h->run, &Q_clock_set, &rows, &e,
		arena_printf(&h->run, "%lld", (long long)h->clock.wall)))
		harness_blame(h, "the clock cannot be set: %s", e.detail);
}

void harness_sync(struct instance *i)
{
	set_clock(i->h, i->db, &i->synced_ms);
}

void harness_sync_admin(struct harness *h)
{
	set_clock(h, h->admin, &h->admin_ms);
}

/* The connection knows a prepared statement by the address of its query. */
static const struct db_query *query_of(struct harness *h, const char *text, int n_params)
{
	int i = 0;

	while (i < h->n_queries && h->query[i].text != text)
		i++;
	if (i == QUERIES_MAX) {
		fprintf(stderr, "faults: more than %d statements\n", i);
		exit(2);
	}
	if (i == h->n_queries)
		h->query[h->n_queries++] =
			(struct db_query){arena_printf(&h->arena, "faults_%d", i), text,
					  n_params, DB_READS, false};
	return &h->query[i];
}

struct db_rows harness_query(struct harness *h, const char *text, const char *param)
{
	const int n = param ? 1 : 0;
	struct db_rows rows = {0};
	struct err e;

	harness_sync_admin(h);
	if (!db_query(h->admin, &h->run, query_of(h, text, n), DB_PARAMS(param),
		      (size_t)n, &rows, &e))
		harness_blame(h, "%s: %s %s", text, e.detail, e.cause[0].message);
	return rows;
}

/* --- runners ----------------------------------------------------------- */

static void connect_instance(struct instance *i)
{
	struct harness *h = i->h;

	arena_init(&i->db_arena, 0);
	i->db = db_new(&i->db_arena, h->url, i->name, &h->clock.clock, &h->rng.rng);
	i->r.db = i->db;
	i->synced_ms = 0;
}

/*
 * The process is gone, and its memory with it. Between two statements a session
 * holds nothing, and a new one costs more than a whole run: only every so often
 * the connection really ends.
 */
static void kill_instance(struct instance *i)
{
	struct harness *h = i->h;

	arena_reset(&i->arena);
	if (++h->n_killed % RECONNECT_EVERY == 0) {
		db_close(i->db);
		arena_free(&i->db_arena);
		connect_instance(i);
	}
	h->world->forget(i);
}

const char *harness_snapshot(struct harness *h)
{
	const struct db_rows rows = harness_query(
		h,
		"select string_agg(o.doc || o.due_at || (select count(*) from event e where "
		"e.op_id = o.id) || coalesce((select string_agg(f::text, ',' order by step, item, "
		"epoch) from effect f where f.op_id = o.id), ''), '|' order by o.id) as all_of_it "
		"from operation o where root_id = $1",
		h->op);

	return rows.n ? db_text(&rows, 0, "all_of_it") : "";
}

/* --- a refusal ----------------------------------------------------------- */

struct ledger {
	int64_t refused; /* effects so far */
	const char *rows;
};

static struct ledger ledger_now(struct harness *h)
{
	const struct db_rows rows = harness_query(
		h,
		"select (select count(*) from effect where outcome = 'refused') as refused, "
		"coalesce((select string_agg(type || ' ' || id || ' ' || state, ', ' "
		"order by type, id) from resource), '') as rows",
		NULL);

	return (struct ledger){rows.n ? db_int(&rows, 0, "refused") : 0,
			       rows.n ? db_text(&rows, 0, "rows") : ""};
}

static bool is_refused_next(struct harness *h)
{
	return h->refused_at && h->world->mutations(h) == h->refused_at - 1;
}

/* I12: what was refused has changed nothing, and the ledger says so. */
static void check_ledger(struct harness *h, const struct ledger *before)
{
	const struct ledger now = ledger_now(h);

	if (now.refused > before->refused && !streq(now.rows, before->rows))
		harness_blame(h,
			      "I12: a refused call of %s has changed the ledger: %s, "
			      "then %s",
			      h->cur->step ? h->cur->step->name : "?", before->rows,
			      now.rows);
}

bool harness_tick(struct instance *i)
{
	struct harness *h = i->h;
	struct err e = {0};
	bool worked = false;
	const bool watched = is_refused_next(h);
	const struct ledger before = watched ? ledger_now(h) : (struct ledger){0};

	h->cur = i;
	h->n_ticks++;
	i->r.exchange = h->world->exchange;
	harness_sync(i);
	if (!runner_tick(&i->r, &i->arena, &worked, &e) && e.code != ERR_FENCED)
		harness_blame(h, "a tick failed: %s: %s %s", errc_info(e.code)->slug,
			      e.detail, e.cause[0].message);
	arena_reset(&i->arena);
	if (watched)
		check_ledger(h, &before);
	return worked;
}

bool harness_tick_or_die(struct instance *i)
{
	struct harness *h = i->h;
	bool worked;

	h->frozen = NULL;
	if (setjmp(h->crash) != 0) {
		kill_instance(h->cur);
		return true;
	}
	worked = harness_tick(i);
	if (h->frozen && !streq(h->frozen, harness_snapshot(h)))
		harness_blame(h, "I5: a fenced runner has changed the journal");
	return worked;
}

bool harness_can_undo(const struct harness *h, const struct scenario *s)
{
	return kind_find(h->world->kinds, s->kind)->undo != NULL;
}

/* --- one run ----------------------------------------------------------- */

static void submit(struct harness *h)
{
	const struct scenario *sc = h->scenario;
	const char *target = sc->target ? sc->target : h->target;
	json_t *input = json_packf(&h->run, "{s:s}", "cluster", target);
	struct submission s = {
		.id = h->op,
		.kind = kind_find(h->world->kinds, sc->kind),
		.target = target,
		.input = input,
		.principal = "tester",
		.face = "rest",
		.capability = "test",
	};
	struct submitted got;
	struct err e = {0};

	if (sc->input &&
	    json_object_update(input, json_parse(&h->run, str_of(sc->input), &e)) != 0)
		harness_blame(h, "the input of %s: %s", sc->name, e.detail);
	if (h->world->fill)
		h->world->fill(h, input);
	s.digest = json_digest(&h->run, input);
	id_make(&h->rng.rng, h->clock.wall, "op_", h->op, sizeof(h->op));
	harness_sync_admin(h);
	if (!journal_submit(h->admin, &h->run, &s, &got, &e))
		harness_blame(h, "submit: %s %s", e.detail, e.cause[0].message);
}

static struct db_rows look(struct harness *h)
{
	return harness_query(
		h,
		"select j_ms(min(due_at) filter (where state = 'live' and due_at < 'infinity')) "
		"as due_ms, count(*) filter (where state = 'live') as live, "
		"count(*) filter (where state = 'held') as held, "
		"max(state) filter (where id = root_id) as state, "
		"max(error->>'detail') filter (where id = root_id) as error "
		"from operation where root_id = $1",
		h->op);
}

static struct instance *next_instance(struct harness *h)
{
	h->turn =
		h->random_permille ? (int)rng_below(&h->rng.rng, INSTANCES) : h->turn + 1;
	return &h->inst[h->turn % INSTANCES];
}

/* One move of the world: time and a tick, or a person. false: it has ended. */
static bool move(struct harness *h)
{
	const struct db_rows now = look(h);
	int64_t due;

	if (h->why)
		return false;
	if (streq(db_text(&now, 0, "state"), "failed") && h->retries > 0) {
		h->retries--;
		h->n_retried++;
		if (h->world->mend)
			h->world->mend(h);
		harness_order(h, journal_retry, h->op, json_packf(&h->run, "{}"));
		return true;
	}
	if (db_int(&now, 0, "live") + db_int(&now, 0, "held") == 0)
		return false;
	if (db_text(&now, 0, "due_ms")) {
		due = db_int(&now, 0, "due_ms");
		if (due > h->clock.wall)
			clock_manual_advance(&h->clock, due - h->clock.wall);
		(void)harness_tick_or_die(next_instance(h));
	} else if (db_int(&now, 0, "held") > 0) {
		harness_decide(h);
	} else {
		harness_blame(h, "I4: live, but never due");
	}
	return true;
}

static void keep_stage(struct harness *h, struct stages *keep)
{
	const int last = keep->n ? keep->v[keep->n - 1].n_spots : -keep->every;

	if (keep->n < keep->max && h->n_spots - last >= keep->every)
		stage_save(h, &keep->v[keep->n++]);
}

static void go_on(struct harness *h, struct stages *keep)
{
	int rounds = 0;

	do {
		if (keep)
			keep_stage(h, keep);
		if (++rounds > ROUNDS_MAX)
			harness_blame(h, "I4: no end after %d rounds", rounds);
	} while (!h->why && move(h));
}

static void begin(struct harness *h, const struct scenario *s)
{
	h->scenario = s;
	h->acted = h->cancelled = h->undone = h->moved = h->nested = false;
	h->frozen = h->why = NULL;
	h->n_spots = h->n_ticks = h->turn = h->retries = h->refused_at = 0;
	h->n_retried = 0;
}

/* As the world is before s, or after it, when nothing has gone wrong. */
static const struct stage *base_of(struct harness *h, const struct scenario *s,
				   bool after)
{
	const struct stage *from;
	struct base *b;
	struct db_rows end;

	for (int i = 0; i < h->n_bases; i++)
		if (h->base[i].of == s && h->base[i].after == after)
			return &h->base[i].stage;
	if (!after && s->before)
		return base_of(h, s->before, true);
	if (after) {
		from = base_of(h, s, false);
		if (!from)
			return NULL;
		stage_restore(h, from);
		begin(h, s);
		h->world->begun(h);
		disturb_begin(h);
		submit(h);
		go_on(h, NULL);
		end = look(h);
		if (!h->why && !streq(db_text(&end, 0, "state"), "succeeded"))
			harness_blame(h, "%s, on which it builds, is %s: %s", s->kind,
				      db_text(&end, 0, "state"),
				      db_text(&end, 0, "error"));
		if (h->why)
			return NULL;
	} else {
		begin(h, s);
		stage_forget(h);
		h->world->reset(h);
	}
	if (h->n_bases == BASES_MAX) {
		harness_blame(h, "more than %d worlds to begin from", BASES_MAX);
		return NULL;
	}
	b = &h->base[h->n_bases++];
	b->of = s;
	b->after = after;
	stage_save(h, &b->stage);
	return &b->stage;
}

bool harness_begin_after(struct harness *h, const struct scenario *s)
{
	const struct rng_seeded rng = h->rng;
	const struct stage *from;

	arena_reset(&h->run);
	h->why = NULL;
	h->random_permille = 0;
	h->many = false;
	from = base_of(h, s, true);
	if (!from)
		return false;
	stage_restore(h, from);
	begin(h, s);
	h->rng = rng;
	h->world->begun(h);
	return true;
}

static bool finish(struct harness *h)
{
	crashpoint_hook = NULL;
	if (!h->why)
		invariants_check(h);
	if (!h->why)
		h->world->check(h);
	return !h->why;
}

static bool is_refusal(const struct harness *h)
{
	return h->world->first_refusal && h->fault_nth &&
	       h->fault >= h->world->first_refusal;
}

/* A definite refusal ends most operations: a person has mended it and asks again. */
static int retries_of_fault(const struct harness *h)
{
	return is_refusal(h) ? 2 : 0;
}

bool harness_run(struct harness *h, const struct scenario *s, struct stages *keep)
{
	const unsigned permille = h->random_permille;
	const struct rng_seeded rng = h->rng;
	const struct stage *from;

	arena_reset(&h->run);
	h->why = NULL;
	h->random_permille = 0;
	from = base_of(h, s, false);
	h->random_permille = permille;
	if (!from)
		return false;
	stage_restore(h, from);
	begin(h, s);
	h->rng = rng;
	h->retries = s->retries + (permille ? 3 : 0) + retries_of_fault(h);
	h->refused_at = is_refusal(h) ? h->fault_nth : 0;
	h->world->begun(h);
	h->world->set_fault(h, h->fault_nth, h->fault);
	h->world->set_random(h, permille);
	disturb_begin(h);
	submit(h);
	go_on(h, keep);
	return finish(h);
}

bool harness_resume(struct harness *h, const struct scenario *s, const struct stage *from)
{
	arena_reset(&h->run);
	begin(h, s);
	stage_restore(h, from);
	h->retries += retries_of_fault(h);
	h->refused_at = is_refusal(h) ? h->fault_nth - from->mutations : 0;
	h->world->set_fault(h, h->fault_nth ? h->fault_nth - from->mutations : 0,
			    h->fault);
	disturb_begin(h);
	go_on(h, NULL);
	return finish(h);
}

/* --- life -------------------------------------------------------------- */

static void init_instance(struct harness *h, int n)
{
	struct instance *i = &h->inst[n];

	i->h = h;
	snprintf(i->name, sizeof(i->name), "runner-%d", n);
	arena_init(&i->arena, 0);
	i->r = (struct runner){
		.cfg = &h->cfg,
		.where = &h->where,
		.clock = &h->clock.clock,
		.rng = &h->rng.rng,
		.kinds = h->world->kinds,
		.worker = i->name,
		.exchange = h->world->exchange,
		.exchange_ctx = i,
	};
	if (h->world->attach)
		h->world->attach(h, i);
	connect_instance(i);
}

void harness_init(struct harness *h, const struct fault_world *w, const char *url)
{
	struct err e = {0};

	*h = (struct harness){.world = w, .target = "w000001"};
	arena_init(&h->arena, 0);
	arena_init(&h->run, 0);
	clock_manual_init(&h->clock, start_ms);
	rng_seeded_init(&h->rng, 1);
	h->url = secret_of(url);
	h->where = (struct where){
		.account = "123456789012",
		.installation = "here",
		.region = "us-west-2",
		.partition = "aws",
		.caller_arn = "arn:aws:iam::123456789012:role/t",
	};
	h->cfg.lease_ms = LEASE_MS;
	h->cfg.call_timeout_ms = CALL_MS;
	h->cfg.visibility_ms = w->lag_ms + 5000;
	h->cfg.poll_scale_percent = 100;
	h->cfg.kube_image = "busybox:1";
	h->admin = db_new(&h->arena, h->url, "faults", &h->clock.clock, &h->rng.rng);
	if (!db_migrate(h->admin, &h->arena, &e)) {
		fprintf(stderr, "faults: %s %s\n", e.detail, e.cause[0].message);
		exit(2);
	}
	(void)harness_query(
		h,
		"truncate operation, effect, event, lock, idempotency, resource, catalog, cluster, audit cascade",
		NULL);
	stages_init(h);
	for (int n = 0; n < INSTANCES; n++)
		init_instance(h, n);
}

void harness_free(struct harness *h)
{
	for (int n = 0; n < INSTANCES; n++) {
		db_close(h->inst[n].db);
		arena_free(&h->inst[n].arena);
		arena_free(&h->inst[n].db_arena);
	}
	for (int n = 0; n < h->n_bases; n++)
		h->world->drop(h->base[n].stage.world);
	if (h->world_state)
		h->world->close(h);
	db_close(h->admin);
	arena_free(&h->run);
	arena_free(&h->arena);
}
