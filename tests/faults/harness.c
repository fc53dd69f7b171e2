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
};
static const int64_t start_ms = 1767225600000;

/* The hook has no context: the harness at work. Tests run one at a time. */
static struct harness *at_work;

const char *act_name(enum act a)
{
	static const char *const name[ACT_COUNT_] = {"none", "crash", "stall", "cancel",
						     "undo"};

	return name[a];
}

void harness_blame(struct harness *h, const char *fmt, ...)
{
	va_list ap;

	if (h->why)
		return;
	va_start(ap, fmt);
	h->why = arena_vprintf(&h->run, fmt, ap);
	va_end(ap);
}

static void set_clock(struct harness *h, struct db *db)
{
	struct db_rows rows;
	struct err e;

	if (!DB(db, &h->run, &Q_clock_set, &rows, &e,
		arena_printf(&h->run, "%lld", (long long)h->clock.wall)))
		harness_blame(h, "the clock cannot be set: %s", e.detail);
}

void harness_sync(struct instance *i)
{
	set_clock(i->h, i->db);
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
		h->query[h->n_queries++] = (struct db_query){
			arena_printf(&h->arena, "faults_%d", i), text, n_params};
	return &h->query[i];
}

struct db_rows harness_query(struct harness *h, const char *text, const char *param)
{
	const int n = param ? 1 : 0;
	struct db_rows rows = {0};
	struct err e;

	set_clock(h, h->admin);
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
}

/* The process is gone: its connection and its memory with it. */
static void kill_instance(struct instance *i)
{
	db_close(i->db);
	arena_reset(&i->arena);
	arena_free(&i->db_arena);
	connect_instance(i);
}

static const char *snapshot(struct harness *h)
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

static bool tick(struct instance *i)
{
	struct harness *h = i->h;
	struct err e = {0};
	bool worked = false;

	h->cur = i;
	h->n_ticks++;
	i->r.exchange = h->world->exchange;
	harness_sync(i);
	if (!runner_tick(&i->r, &i->arena, &worked, &e) && e.code != ERR_FENCED)
		harness_blame(h, "a tick failed: %s: %s %s", errc_info(e.code)->slug,
			      e.detail, e.cause[0].message);
	arena_reset(&i->arena);
	return worked;
}

/* As tick(), and survives the crash of the runner. */
static bool tick_or_die(struct instance *i)
{
	struct harness *h = i->h;
	bool worked;

	h->frozen = NULL;
	if (setjmp(h->crash) != 0) {
		kill_instance(h->cur);
		return true;
	}
	worked = tick(i);
	if (h->frozen && !streq(h->frozen, snapshot(h)))
		harness_blame(h, "I5: a fenced runner has changed the journal");
	return worked;
}

/* --- what goes wrong --------------------------------------------------- */

static void order(struct harness *h,
		  bool (*give)(struct db *, struct arena *, const struct order *,
			       struct str *, struct err *),
		  const char *op, json_t *args)
{
	const struct order o = {
		.op_id = op, .principal = "tester", .face = "rest", .args = args};
	struct str doc;
	struct err e;

	set_clock(h, h->admin);
	/* It may have ended meanwhile: that is the one refusal that is allowed. */
	if (!give(h->admin, &h->run, &o, &doc, &e) && e.code != ERR_STATE_CONFLICT)
		harness_blame(h, "an order was refused: %s", e.detail);
}

static void cancel(struct harness *h, bool undo)
{
	h->cancelled = true;
	h->undone = undo;
	order(h, journal_cancel, h->op, json_packf(&h->run, "{s:b}", "undo", undo));
}

/* Freezes the runner at work beyond its lease while another takes over. */
static void stall(struct harness *h)
{
	struct instance *frozen = h->cur;
	struct instance *other = &h->inst[(frozen - h->inst + 1) % INSTANCES];

	h->nested = true;
	clock_manual_advance(&h->clock, runner_lease_ms(&frozen->r) + 1);
	for (int n = 0; n < 2; n++)
		if (!tick(other))
			break;
	h->nested = false;
	h->cur = frozen;
	harness_sync(frozen);
	h->frozen = snapshot(h);
}

/*
 * A process that freezes between its last check and the send may leak one
 * effect when nothing but time guards it; those classes are not asked to
 * survive it. Nor is a token whose refusal, seen by the one who took over, has
 * made way for the next epoch.
 */
static bool may_stall(const struct harness *h, const char *point, const struct step *s)
{
	if (streq(point, "after-settle"))
		return false;
	if (!streq(point, "before-send"))
		return true;
	return s->effect != EFFECT_TAGGED && s->effect != EFFECT_ONCE &&
	       h->scenario->retries == 0;
}

static void act(struct harness *h, enum act a, const char *point, const struct step *s)
{
	if (a == ACT_CRASH) {
		h->acted = true;
		longjmp(h->crash, 1);
	} else if (a == ACT_STALL && may_stall(h, point, s)) {
		h->acted = true;
		stall(h);
	} else if (a == ACT_CANCEL || a == ACT_UNDO) {
		h->acted = true;
		cancel(h, a == ACT_UNDO);
	}
}

static void note_operation(struct instance *i)
{
	const struct db_rows rows = harness_query(
		i->h,
		"select id from operation where claimed_by = $1 order by due_at desc limit 1",
		i->name);

	str_copy(i->op, sizeof(i->op), rows.n ? db_text(&rows, 0, "id") : "");
}

void harness_point(struct harness *h, const char *point, const struct step *s)
{
	h->cur->step = s;
	if (streq(point, "after-claim"))
		note_operation(h->cur);
	if (h->nested)
		return;
	if (h->n_spots < SPOTS_MAX)
		h->spot[h->n_spots] = (struct spot){point, s};
	h->n_spots++;
	if (h->act != ACT_NONE && h->n_spots == h->at)
		act(h, h->act, point, s);
	else if (h->random_permille && rng_below(&h->rng.rng, 1000) < h->random_permille)
		act(h, rng_below(&h->rng.rng, 2) ? ACT_CRASH : ACT_STALL, point, s);
}

static void hook(const char *point, const struct step *s)
{
	harness_point(at_work, point, s);
}

/* --- one run ----------------------------------------------------------- */

static void submit(struct harness *h)
{
	json_t *input = json_packf(&h->run, "{s:s}", "cluster", h->target);
	const struct kind *k = kind_find(h->world->kinds, h->scenario->kind);
	struct submission s = {
		.id = h->op,
		.kind = k,
		.target = h->target,
		.input = input,
		.principal = "tester",
		.face = "rest",
		.capability = "test",
	};
	struct submitted got;
	struct err e = {0};

	if (h->scenario->input)
		json_object_update(input,
				   json_parse(&h->run, str_of(h->scenario->input), &e));
	s.digest = json_digest(&h->run, input);

	id_make(&h->rng.rng, h->clock.wall, "op_", h->op, sizeof(h->op));
	set_clock(h, h->admin);
	if (!journal_submit(h->admin, &h->run, &s, &got, &e))
		harness_blame(h, "submit: %s %s", e.detail, e.cause[0].message);
}

/* A person who can look at the world, which no program can. */
static void decide(struct harness *h)
{
	const struct db_rows rows =
		harness_query(h,
			      "select id, step, question->'evidence'->>'item' as item, "
			      "question->'choices'->0->>'id' as first from operation "
			      "where root_id = $1 and state = 'held'",
			      h->op);
	const char *choice;

	if (h->why)
		return;
	choice = db_text(&rows, 0, "first");
	if (streq(choice, CHOICE_HAPPENED) &&
	    !h->world->happened(h, db_text(&rows, 0, "id"), db_text(&rows, 0, "step"),
				db_text(&rows, 0, "item") ? db_text(&rows, 0, "item")
							  : ""))
		choice = CHOICE_NOT_HAPPENED;
	order(h, journal_answer, db_text(&rows, 0, "id"),
	      json_packf(&h->run, "{s:s}", "choice", choice));
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

/* One move of the world: a tick, or time, or a person. false: it has ended. */
static bool move(struct harness *h, int *retries)
{
	const struct db_rows now = look(h);
	int64_t due;

	if (h->why)
		return false;
	if (streq(db_text(&now, 0, "state"), "failed") && *retries > 0) {
		--*retries;
		order(h, journal_retry, h->op, json_packf(&h->run, "{}"));
		return true;
	}
	if (db_int(&now, 0, "live") + db_int(&now, 0, "held") == 0)
		return false;
	h->turn =
		h->random_permille ? (int)rng_below(&h->rng.rng, INSTANCES) : h->turn + 1;
	if (tick_or_die(&h->inst[h->turn % INSTANCES]))
		return true;
	if (db_text(&now, 0, "due_ms")) {
		due = db_int(&now, 0, "due_ms");
		if (due > h->clock.wall)
			clock_manual_advance(&h->clock, due - h->clock.wall);
	} else if (db_int(&now, 0, "held") > 0) {
		decide(h);
	} else {
		harness_blame(h, "I4: live, but never due");
	}
	return true;
}

static void begin(struct harness *h, const struct scenario *s)
{
	arena_reset(&h->run);
	h->scenario = s;
	h->acted = h->cancelled = h->undone = h->nested = false;
	h->frozen = h->why = NULL;
	h->n_spots = h->n_ticks = h->turn = 0;
	snprintf(h->target, sizeof(h->target), "w%06d", ++h->n_runs);
	clock_manual_advance(&h->clock, 60 * 1000);
	h->world->reset(h);
}

/* What the scenario builds on, without crash points and faults. */
static void run_before(struct harness *h)
{
	const struct scenario *s = h->scenario;
	const unsigned permille = h->random_permille;
	int rounds = 0, retries = 0;

	if (!s->before)
		return;
	h->scenario = s->before;
	h->random_permille = 0;
	submit(h);
	while (!h->why && move(h, &retries) && ++rounds < ROUNDS_MAX)
		;
	h->scenario = s;
	h->random_permille = permille;
}

bool harness_run(struct harness *h, const struct scenario *s)
{
	int retries = s->retries + (h->random_permille ? 3 : 0);
	int rounds = 0;

	begin(h, s);
	run_before(h);
	h->world->set_fault(h, h->fault_nth, h->fault);
	h->world->set_random(h, h->random_permille);
	at_work = h;
	crashpoint_hook = hook;
	submit(h);
	while (!h->why && move(h, &retries))
		if (++rounds > ROUNDS_MAX)
			harness_blame(h, "I4: no end after %d rounds", rounds);
	crashpoint_hook = NULL;
	if (!h->why)
		invariants_check(h);
	if (!h->why)
		h->world->check(h);
	/* A broken run must not disturb the next one. */
	if (h->why)
		(void)harness_query(
			h, "update operation set due_at = 'infinity' where root_id = $1",
			h->op);
	return !h->why;
}

/* Ids that the world has drawn: twelve hexadecimal digits or more. */
static void blot_ids(char *text)
{
	static const char hex[] = "0123456789abcdef";

	for (char *p = text; *p; p++) {
		const size_t n = strspn(p, hex);

		if (n >= 12)
			memset(p, '~', n);
		if (n > 0)
			p += n - 1;
	}
}

const char *harness_signature(struct harness *h)
{
	const struct db_rows rows = harness_query(
		h,
		"select string_agg(kind || ' ' || coalesce(stage, '') || ' ' || state || ' ' || "
		"coalesce(result::text, ''), '; ' order by kind, stage) as ops, "
		"(select string_agg(type || ' ' || state, ', ' order by type, state) from resource "
		"where op_id = $1) as owned from operation where root_id = $1",
		h->op);
	struct buf b;
	char *p;

	buf_init(&b, &h->run, 1024 * 1024);
	buf_printf(&b, "%s\nowned: %s\n", rows.n ? db_text(&rows, 0, "ops") : "",
		   rows.n && db_text(&rows, 0, "owned") ? db_text(&rows, 0, "owned")
							: "");
	h->world->describe(h, &b);
	p = arena_strdup(&h->run, buf_cstr(&b));
	for (char *at = strstr(p, h->target); at; at = strstr(at, h->target))
		memset(at, '#', strlen(h->target));
	blot_ids(p);
	return p;
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

	*h = (struct harness){.world = w};
	arena_init(&h->arena, 0);
	arena_init(&h->run, 0);
	clock_manual_init(&h->clock, start_ms);
	rng_seeded_init(&h->rng, 1);
	h->url = secret_of(url);
	h->where = (struct where){
		.account = "123456789012",
		.region = "us-west-2",
		.partition = "aws",
		.caller_arn = "arn:aws:iam::123456789012:role/t",
	};
	h->cfg.lease_ms = LEASE_MS;
	h->cfg.call_timeout_ms = CALL_MS;
	h->cfg.visibility_ms = w->lag_ms + 5000;
	h->cfg.poll_scale_percent = 100;
	h->admin = db_new(&h->arena, h->url, "faults", &h->clock.clock, &h->rng.rng);
	if (!db_migrate(h->admin, &h->arena, &e)) {
		fprintf(stderr, "faults: %s %s\n", e.detail, e.cause[0].message);
		exit(2);
	}
	(void)harness_query(
		h,
		"truncate operation, effect, event, lock, idempotency, resource, catalog, cluster, audit cascade",
		NULL);
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
	if (h->world_state)
		h->world->close(h);
	db_close(h->admin);
	arena_free(&h->run);
	arena_free(&h->arena);
}
