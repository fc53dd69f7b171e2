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

struct harness;
struct instance;
struct scenario;

/* What is worked on. Another world is another table of functions. */
struct fault_world {
	const char *name;
	const struct scenario *scenarios; /* ended by a row without a kind */
	const struct kind *const *kinds;
	int64_t lag_ms; /* of the world's lists; longer than the lease */
	/* A fresh world for a run with this target. */
	void (*reset)(struct harness *h);
	void (*close)(struct harness *h);
	/* Gives a runner what it reaches the world by; may be NULL. */
	void (*attach)(struct harness *h, struct instance *i);
	/* The exchange seam of a runner; NULL: its aws, kube and helm are set. */
	void (*exchange)(struct runner *r, const struct exchange *x, const char *token,
			 struct arena *a, struct answer *ret);
	/* The run begins: what arrived so far was of the operation before it.
	 * Makes the n-th mutation meet a fault (from 1); 0: none. */
	void (*set_fault)(struct harness *h, int nth, int fault);
	void (*set_random)(struct harness *h, unsigned permille);
	int (*mutations)(struct harness *h);
	/* Whether a mutation of that step has had its effect. */
	bool (*happened)(struct harness *h, const char *op, const char *step,
			 const char *item);
	/* Everything in it that the operation is to be judged by, as text. */
	void (*describe)(struct harness *h, struct buf *out);
	/* The invariants that need the world's ledger; says what is broken. */
	void (*check)(struct harness *h);
	int n_faults;
	const char *(*fault_name)(int fault);
};
extern const struct fault_world small_world, cloud_world;

struct scenario {
	const char *kind;
	int retries; /* that a person asks for after a failure */
	bool can_undo;
	bool seeded;       /* objects to delete are there already */
	const char *input; /* JSON, besides the cluster; NULL: none */
	/* An operation that has been carried out before, undisturbed. */
	const struct scenario *before;
};

enum act { ACT_NONE, ACT_CRASH, ACT_STALL, ACT_CANCEL, ACT_UNDO, ACT_COUNT_ };
const char *act_name(enum act a);

struct instance {
	struct harness *h;
	char name[24];
	struct db *db;
	struct arena db_arena;
	struct arena arena;
	struct runner r;
	const struct step *step; /* of the claim at work */
	char op[40];             /* its operation */
};

/* One crash point that was passed. */
struct spot {
	const char *point;
	const struct step *step;
};

enum { INSTANCES = 3, SPOTS_MAX = 4096, QUERIES_MAX = 32 };

struct harness {
	const struct fault_world *world;
	void *world_state;
	const struct scenario *scenario;
	struct secret url;
	struct arena arena; /* of the process */
	struct arena run;   /* of one run */
	struct clock_manual clock;
	struct rng_seeded rng;
	struct config cfg;
	struct where where;
	struct db *admin;
	struct db_query query[QUERIES_MAX]; /* of the tests, by text */
	int n_queries;
	struct instance inst[INSTANCES];
	struct instance *cur;
	int turn;
	int n_runs;

	/* One run. */
	char target[16];
	char op[40];
	enum act act; /* at the spot number `at`, from 1 */
	int at;
	unsigned random_permille; /* crashes, stalls and faults; 0: none */
	int fault_nth;            /* of the run's mutations; 0: none */
	int fault;
	bool acted;
	bool cancelled; /* somebody has asked for it */
	bool undone;
	bool nested;
	const char *frozen; /* what a stalled runner must not change */
	struct spot spot[SPOTS_MAX];
	int n_spots;
	int n_ticks;
	jmp_buf crash;
	const char *why; /* the first thing that is wrong; NULL: nothing */
};

void harness_init(struct harness *h, const struct fault_world *w, const char *url);
void harness_free(struct harness *h);
/* Runs one operation of the scenario to its end; false: h->why says why. */
bool harness_run(struct harness *h, const struct scenario *s);
/* End state as text, without what differs from run to run. In h->run. */
const char *harness_signature(struct harness *h);
void harness_point(struct harness *h, const char *point, const struct step *s);
void harness_sync(struct instance *i);
void harness_blame(struct harness *h, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A statement of the tests, on the administrator's connection. */
struct db_rows harness_query(struct harness *h, const char *text, const char *param);
/* invariants.c: what the journal alone can tell. */
void invariants_check(struct harness *h);

#endif
