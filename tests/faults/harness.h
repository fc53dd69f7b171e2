/*
 * harness.h - runs operations in process, on a virtual clock, and breaks them.
 *
 * Three runners with connections of their own share a real PostgreSQL. One
 * virtual clock drives them, the journal (its session setting) and the world.
 * A crash is a longjmp out of a crash point and the end of the connection; a
 * stall moves the clock past the lease and lets another runner take over while
 * the first stands still.
 */
#ifndef INSTANTSTART_TESTS_FAULTS_HARNESS_H
#define INSTANTSTART_TESTS_FAULTS_HARNESS_H

#include <setjmp.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/db/db.h"
#include "core/op/journal.h"
#include "core/op/runner.h"
#include "tests/faults/stage.h"

struct harness;
struct instance;
struct scenario;

/* The last three are somebody else's: see fault_world.others. */
enum act {
	ACT_NONE,
	ACT_CRASH,
	ACT_STALL,
	ACT_CANCEL,
	ACT_UNDO,
	ACT_MOVED,
	ACT_GONE,
	ACT_IMPOSSIBLE,
	ACT_COUNT_
};
const char *act_name(enum act a);

/* What is worked on. Another world is another table of functions. */
struct fault_world {
	const char *name;
	const struct scenario *scenarios; /* ended by a row without a kind */
	const struct kind *const *kinds;
	int64_t lag_ms; /* of the world's lists; longer than the lease */
	/* A fresh world for a run with this target. */
	void (*reset)(struct harness *h);
	void (*close)(struct harness *h);
	/*
	 * To go back to a stage. What save() gives is freed by drop(). What a
	 * runner's process keeps between ticks is gone with forget().
	 */
	void *(*save)(struct harness *h);
	void (*restore)(struct harness *h, const struct stage *s);
	void (*drop)(void *saved);
	void (*forget)(struct instance *i);
	/* Gives a runner what it reaches the world by; may be NULL. */
	void (*attach)(struct harness *h, struct instance *i);
	/* The exchange seam of a runner; NULL: its aws, kube and helm are set. */
	void (*exchange)(struct runner *r, const struct exchange *x, const char *token,
			 struct arena *a, struct answer *ret);
	/* What an input cannot say before the world exists; may be NULL. */
	void (*fill)(struct harness *h, json_t *input);
	/* An operation begins: what arrived so far was of the one before it. */
	void (*begun)(struct harness *h);
	/* The n-th mutation from now (from 1) meets a fault; 0: none. */
	void (*set_fault)(struct harness *h, int nth, int fault);
	/* Somebody has mended what the operation has failed for; may be NULL. */
	void (*mend)(struct harness *h);
	void (*set_random)(struct harness *h, unsigned permille);
	int (*mutations)(struct harness *h);
	/* Whether a mutation of that step has had its effect. */
	bool (*happened)(struct harness *h, const char *op, const char *step,
			 const char *item);
	/* Everything in it that the operation is to be judged by, as text. */
	void (*describe)(struct harness *h, struct buf *out);
	/* Somebody else moves what the operation waits for; false: there is nothing
	 * of the sort. NULL: nobody else is in this world. */
	bool (*others)(struct harness *h, enum act a);
	/* What is asked of the world, as text, to compare with; in h->run. */
	const char *(*wanted)(struct harness *h);
	/* The invariants that need the world's ledger; says what is broken. */
	void (*check)(struct harness *h);
	int n_faults;
	const char *(*fault_name)(int fault);
	/* From this fault on they are definite refusals: a person asks again. 0: none. */
	int first_refusal;
	/* From this one on the mutation's outcome stays unknown, and what is asked after
	 * it is refused until the operation has failed: one for each step. 0: none. */
	int first_of_tries;
};
extern const struct fault_world small_world, cloud_world;

struct scenario {
	const char *name; /* in what is printed, and for --kind */
	const char *kind;
	int retries; /* that a person asks for after a failure */
	/* Its stages have scenarios of their own: in them it is only cancelled. */
	bool has_stages;
	bool silent;       /* its Kubernetes API gives no answer at all */
	bool seeded;       /* objects to delete are there already */
	const char *input; /* JSON, besides the cluster; NULL: none */
	/* Its target, when it is not the cluster that the run is about. */
	const char *target;
	/* An operation that has been carried out before, undisturbed. */
	const struct scenario *before;
};

struct instance {
	struct harness *h;
	char name[24];
	struct db *db;
	struct arena db_arena;
	struct arena arena;
	struct runner r;
	int64_t synced_ms;       /* what its session's clock was set to */
	const struct step *step; /* of the claim at work */
	char op[40];             /* its operation */
};

/* One crash point that was passed. */
struct spot {
	const char *point;
	const struct step *step;
	bool in_stage; /* of an operation that the scenario's has started */
	int mutations; /* asked for so far */
};

enum { INSTANCES = 3, SPOTS_MAX = 8192, QUERIES_MAX = 40, BASES_MAX = 24 };

/* A world to begin from: before a scenario, or after it. */
struct base {
	const struct scenario *of;
	bool after;
	struct stage stage;
};

struct harness {
	const struct fault_world *world;
	void *world_state;
	const struct scenario *scenario;
	struct secret url;
	struct arena arena; /* of the process */
	struct arena run;   /* of one run */
	struct clock_manual clock;
	struct rng_seeded rng;
	int n_stages; /* saved so far */
	int n_restored;
	int n_killed;
	struct config cfg;
	struct where where;
	struct db *admin;
	int64_t admin_ms; /* what the administrator's clock was set to */
	struct db_query query[QUERIES_MAX]; /* of the tests, by text */
	int n_queries;
	struct instance inst[INSTANCES];
	struct instance *cur;
	int turn;
	struct base base[BASES_MAX];
	int n_bases;

	/* One run. */
	char target[16];
	char op[40];
	enum act act; /* at the spot number `at`, from 1 */
	int at;
	unsigned random_permille; /* crashes, stalls and faults; 0: none */
	int fault_nth;            /* of the run's mutations; 0: none */
	int fault;
	int refused_at; /* the mutation of this stretch that is refused; 0: none */
	bool acted;
	bool cancelled; /* somebody has asked for it */
	bool undone;
	bool moved; /* somebody else has changed what it waits for */
	bool nested;
	bool many;          /* operations at once: `op` is the root of what is claimed */
	const char *frozen; /* what a stalled runner must not change */
	struct spot spot[SPOTS_MAX];
	int n_spots;
	int n_ticks;
	int retries; /* that are left */
	int n_retried;
	jmp_buf crash;
	const char *why; /* the first thing that is wrong; NULL: nothing */
};

void harness_init(struct harness *h, const struct fault_world *w, const char *url);
void harness_free(struct harness *h);
/* Stages that a run leaves behind, one every so many points. */
struct stages {
	struct stage *v;
	int n, max;
	int every;
};

/*
 * Runs one operation of the scenario to its end; false: h->why says why. keep
 * may be NULL. The second form goes on from a stage that such a run has left.
 */
bool harness_run(struct harness *h, const struct scenario *s, struct stages *keep);
bool harness_resume(struct harness *h, const struct scenario *s,
		    const struct stage *from);
/* End state as text, without what differs from run to run. In h->run. */
const char *harness_signature(struct harness *h);
/* Writes the lines in the order of their text, without ids that were drawn. */
void harness_sort_lines(struct harness *h, const char **line, size_t n, struct buf *out);
/* A cancel may ask for undo: its kind has one. */
bool harness_can_undo(const struct harness *h, const struct scenario *s);
void harness_point(struct harness *h, const char *point, const struct step *s);
void harness_sync(struct instance *i);
void harness_sync_admin(struct harness *h);
bool harness_tick(struct instance *i);
/* The same, and survives the crash of the runner. */
bool harness_tick_or_die(struct instance *i);
/* As the world is after s has been carried out, undisturbed. false: h->why. */
bool harness_begin_after(struct harness *h, const struct scenario *s);
/* The journal's rows of the operation, as text. */
const char *harness_snapshot(struct harness *h);
void harness_blame(struct harness *h, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A statement of the tests, on the administrator's connection. */
struct db_rows harness_query(struct harness *h, const char *text, const char *param);
/* disturb.c */
void disturb_begin(struct harness *h);
void harness_order(struct harness *h,
		   bool (*give)(struct db *, struct arena *, const struct order *,
				struct str *, struct err *),
		   const char *op, json_t *args);
void harness_decide(struct harness *h);
/* invariants.c: what the journal alone can tell. */
void invariants_check(struct harness *h);

#endif
