#include "core/poller/worker.h"

#include <poll.h>
#include <unistd.h>

#include "core/aws/account.h"
#include "core/base/rng.h"
#include "core/db/db.h"
#include "core/domain/node/refresh.h"
#include "core/json/tree.h"
#include "core/kube/helm_folder.h"
#include "core/op/world.h"
#include "gen/queries.h"

enum {
	/* One worker keeps the house; the others only work. */
	KEEPER_SLOT = 0,
	CHAIN_EVERY_MS = 2000,
	SWEEP_EVERY_MS = 10 * 60 * 1000,
	CREDENTIALS_EVERY_MS = 30 * 1000,
	IDENTITY_MS = 2000,          /* for asking whether AWS still takes them */
	HELM_FOLDER_AGE_S = 60 * 60, /* no run lasts that long */
	CHAIN_ROWS = 1000,
	LOST_EVERY_MS = 5000, /* workers that have ended without a farewell */
	BEAT_EVERY_MS = 5000,
	BEAT_SLACK_MS = 30000, /* more than one call takes */
	PAUSE_MIN_MS = 500,
	PAUSE_MAX_MS = 30 * 1000,
	DATABASE_PAUSE_MAX_MS = 2 * 1000,
	LOCATE_AGAIN_MS = 30 * 1000,
};

struct worker {
	struct poller *p;
	int slot;
	int stop_fd;
	struct arena process;
	struct arena step;
	struct db *db;
	struct world world;
	int64_t chain_at_ms; /* monotonic */
	int64_t sweep_at_ms;
	int64_t forgotten_at_ms;
	int64_t lost_at_ms;
	int64_t credentials_at_ms;
	int64_t locate_at_ms; /* STS has not said yet who we are; 0: it has */
	int64_t promised_ms;  /* monotonic: by when it said that it would be heard of */
	bool listens;         /* only an idle worker does: a busy one looks anyway */
};

static int64_t mono_ms(void)
{
	return clock_system()->mono_ms(clock_system());
}

/* Waits that long; true when it is time to end. */
static bool is_told_to_stop(const struct worker *w, int64_t wait_ms)
{
	struct pollfd stop = {.fd = w->stop_fd, .events = POLLIN};

	return poll(&stop, 1, (int)wait_ms) > 0;
}

/* A jittered, doubling pause; true when it is time to end. */
static bool pause_after(struct worker *w, int64_t *pause_ms, int64_t max_ms)
{
	const int64_t ms = *pause_ms;

	*pause_ms = ms * 2 < max_ms ? ms * 2 : max_ms;
	return is_told_to_stop(w,
			       ms / 2 + (int64_t)rng_below(rng_system(), (uint64_t)ms));
}

/* Faces have no credentials that they use often: they say what was found here. */
static void note_credentials(struct worker *w, bool valid, const struct err *why)
{
	const char *source = aws_credentials_source(w->world.aws.credentials);
	struct db_rows ignored;
	struct err e = {0};

	/* What may pass is no news: whoever waits for it says so. */
	if (!valid && err_retry(why) != RETRY_HUMAN)
		return;
	if (!DB(w->db, &w->step, &Q_credential_note, &ignored, &e, valid ? "t" : "f",
		source, valid ? NULL : why->detail, valid ? NULL : why->fix))
		log_err(w->p->log, "credentials_note", &e);
}

/* Keys that nobody needs at the moment may have ended, too, and AWS may take them no
 * longer. */
static void watch_credentials(struct worker *w)
{
	struct aws *aws = &w->world.aws;
	struct err e = {0};
	json_t *caller;
	bool valid;

	if (mono_ms() < w->credentials_at_ms)
		return;
	w->credentials_at_ms = mono_ms() + CREDENTIALS_EVERY_MS;
	valid = aws_read_page(aws, AWS_STS_GetCallerIdentity, json_new_object(&w->step),
			      mono_ms() + IDENTITY_MS, &w->step, &caller, &e) &&
		aws_is_ours(aws, caller, &e);
	note_credentials(w, valid, &e);
}

static void log_located(const struct worker *w, const char *what)
{
	log_info(w->p->log, what, LOG_S("account", w->world.where.account),
		 LOG_S("region", w->world.where.region),
		 LOG_S("caller", w->world.where.caller_arn),
		 LOG_S("credentials", aws_credentials_source(w->world.aws.credentials)));
}

/*
 * Nobody works in a place that is not the journal's: STS says where we are, and the
 * journal refuses the wrong account. While STS gives no answer, what the journal knows
 * holds: cancels and answers need no cloud, and what needs it gets no answer either.
 * Credentials may come later than we do.
 */
static bool locate(struct worker *w)
{
	int64_t pause_ms = PAUSE_MIN_MS;
	struct err e = {0}, ignored;

	while (!world_locate(&w->world, &w->process, &e)) {
		log_err(w->p->log, "locate", &e);
		arena_reset(&w->step);
		note_credentials(w, false, &e);
		if (e.code != ERR_STATE_CONFLICT && e.code != ERR_CONFIG &&
		    world_know(&w->world, &w->process, &ignored) &&
		    w->world.where.account) {
			w->locate_at_ms = mono_ms() + LOCATE_AGAIN_MS;
			log_located(w, "assumed");
			return true;
		}
		if (pause_after(w, &pause_ms, PAUSE_MAX_MS))
			return false;
	}
	w->locate_at_ms = 0;
	log_located(w, "located");
	note_credentials(w, true, &e);
	return true;
}

/* false: it is time to end. */
static bool confirm_place(struct worker *w)
{
	return w->locate_at_ms == 0 || mono_ms() < w->locate_at_ms || locate(w);
}

static void run_duty(struct worker *w, const struct db_query *q, const char *rows,
		     int64_t every_ms, int64_t *at_ms)
{
	struct db_rows ignored;
	struct err e = {0};

	if (mono_ms() < *at_ms)
		return;
	*at_ms = mono_ms() + every_ms;
	if (!db_query(w->db, &w->step, q, DB_PARAMS(rows), rows ? 1 : 0, &ignored, &e))
		log_err(w->p->log, q->name, &e);
}

static void keep_house(struct worker *w)
{
	if (w->slot != KEEPER_SLOT)
		return;
	run_duty(w, &Q_audit_chain, arena_printf(&w->step, "%d", CHAIN_ROWS),
		 CHAIN_EVERY_MS, &w->chain_at_ms);
	if (mono_ms() >= w->sweep_at_ms)
		helm_folders_sweep(w->world.helm.tmp_dir, HELM_FOLDER_AGE_S);
	run_duty(w, &Q_journal_sweep, NULL, SWEEP_EVERY_MS, &w->sweep_at_ms);
	run_duty(w, &Q_heartbeat_lost, NULL, LOST_EVERY_MS, &w->lost_at_ms);
	run_duty(w, &Q_cluster_sweep, NULL, SWEEP_EVERY_MS, &w->forgotten_at_ms);
	watch_credentials(w);
}

/*
 * Says that this worker is there, and when it will be heard of again: a claim may take
 * its whole lease. Written every few seconds, and when that changes.
 */
static void beat(struct worker *w, int64_t promise_ms)
{
	const int64_t wanted = mono_ms() + promise_ms;
	struct db_rows ignored;
	struct err e = {0};

	/* Neither about to end, nor more than what is done now can take. */
	if (w->promised_ms > wanted - BEAT_EVERY_MS &&
	    w->promised_ms < wanted + BEAT_EVERY_MS)
		return;
	w->promised_ms = wanted;
	if (!DB(w->db, &w->step, &Q_heartbeat_put, &ignored, &e, "poller",
		w->world.runner.worker,
		arena_printf(&w->step, "%lld", (long long)promise_ms)))
		log_err(w->p->log, "heartbeat", &e);
}

static void say_farewell(struct worker *w)
{
	struct db_rows ignored;
	struct err e = {0};

	if (w->promised_ms &&
	    !DB(w->db, &w->step, &Q_heartbeat_end, &ignored, &e, w->world.runner.worker))
		log_err(w->p->log, "heartbeat", &e);
}

static int64_t busy_ms(const struct worker *w)
{
	return w->p->cfg->lease_ms + BEAT_SLACK_MS;
}

/* What is told to one that is at work costs the server, and is not needed. */
static bool set_listening(struct worker *w, bool wanted)
{
	static const char channel[] = "instantstart_due";
	struct err e = {0};

	if (w->listens == wanted)
		return true;
	if (!(wanted ? db_listen(w->db, channel, &e) : db_unlisten(w->db, channel, &e))) {
		log_err(w->p->log, "listen", &e);
		return false;
	}
	w->listens = wanted;
	return true;
}

/* Until nothing is due. false: the journal could not be reached. */
static bool work_off(struct worker *w)
{
	bool worked = true;
	struct err e = {0};

	while (worked && !is_told_to_stop(w, 0)) {
		arena_reset(&w->step);
		if (!runner_tick(&w->world.runner, &w->step, &worked, &e)) {
			log_err(w->p->log, "tick", &e);
			/* Somebody took over: that claim is theirs, others are due. */
			if (e.code != ERR_FENCED)
				return false;
			worked = true;
		}
		/* There is more: the next claim may take its whole lease. */
		if (worked) {
			beat(w, busy_ms(w));
			if (!set_listening(w, false))
				return false;
		}
		keep_house(w);
	}
	return true;
}

/*
 * One page of what the catalog should know. Operations come first: this is called
 * when none is due. Returns how long to wait for something to do.
 */
static int64_t refresh_some(struct worker *w)
{
	const int64_t tick_ms = w->p->cfg->tick_ms;
	bool worked;
	int64_t wait_ms;
	struct err e = {0};

	arena_reset(&w->step);
	if (!refresh_tick(&w->world.runner, &w->step, &worked, &wait_ms, &e)) {
		if (e.code != ERR_FENCED)
			log_err(w->p->log, "refresh", &e);
		return tick_ms;
	}
	if (worked)
		return 0;
	return wait_ms >= 0 && wait_ms < tick_ms ? wait_ms : tick_ms;
}

static void serve(struct worker *w)
{
	int64_t pause_ms = PAUSE_MIN_MS, wait_ms;
	bool listened;

	while (!is_told_to_stop(w, 0)) {
		if (!confirm_place(w))
			return;
		if (!work_off(w) || !(listened = w->listens, set_listening(w, true))) {
			if (pause_after(w, &pause_ms, DATABASE_PAUSE_MAX_MS))
				return;
			continue;
		}
		/* What became due before we listened was told to others only. */
		if (!listened)
			continue;
		pause_ms = PAUSE_MIN_MS;
		arena_reset(&w->step);
		keep_house(w);
		wait_ms = refresh_some(w);
		arena_reset(&w->step);
		beat(w, wait_ms + BEAT_SLACK_MS);
		(void)db_wait_notify(w->db, &w->step, wait_ms, w->stop_fd);
	}
}

int poller_work(void *ctx, int slot, int stop_fd)
{
	struct worker w = {.p = ctx, .slot = slot, .stop_fd = stop_fd};
	const struct poller *p = ctx;
	char host[64] = "";
	struct err e = {0};

	arena_init(&w.process, 0);
	arena_init(&w.step, 0);
	gethostname(host, sizeof(host) - 1);
	w.db = db_new(&w.process, p->cfg->database_url, "instantstart-poller",
		      clock_system(), rng_system());
	if (!world_init(&w.world, &w.process, p->cfg, w.db, clock_system(), rng_system(),
			p->log, p->kinds,
			arena_printf(&w.process, "%s/%d", host, (int)getpid()), &e)) {
		log_err(p->log, "start", &e);
		return 1;
	}
	if (locate(&w))
		serve(&w);
	say_farewell(&w);
	db_close(w.db);
	arena_free(&w.step);
	arena_free(&w.process);
	return 0;
}
