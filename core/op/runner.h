/*
 * runner.h - carries operations out, one step at a time.
 *
 * The only part of the program that mutates the cloud. A tick claims one due
 * operation and walks its step: observe, plan, intent, deadline check, call,
 * absorb, settle. Blocking, single-threaded; more work means more processes.
 * Nothing is kept between ticks but connections and caches.
 */
#ifndef INSTANTSTART_OP_RUNNER_H
#define INSTANTSTART_OP_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/config.h"
#include "core/base/log.h"
#include "core/base/rng.h"
#include "core/db/db.h"
#include "core/op/kind.h"

struct budget;
struct rights_memo;

struct runner {
	struct db *db;
	struct aws *aws;
	struct kube *kube;
	struct helm *helm;
	const struct config *cfg;
	const struct where *where;
	struct clock *clock;
	struct rng *rng;
	const struct log *log;           /* NULL: silent */
	const struct kind *const *kinds; /* NULL-ended */
	const char *worker;              /* host/pid, for claimed_by */
	struct budget *budget;           /* of calls per service; NULL: unbounded */
	/* Plans and first claims ask whether we are allowed what is to be done; NULL:
	 * they do not. See rights.h. */
	struct rights_memo *rights;
	/* NULL in the programs; a test's world otherwise, in place of aws, kube
	 * and helm. */
	void (*exchange)(struct runner *r, const struct exchange *x, const char *token,
			 struct arena *a, struct answer *ret);
	void *exchange_ctx;
};

/*
 * Claims and carries out one step. *ret_worked says whether anything was due.
 * false: the journal could not be reached or fenced us; the claim passes by
 * itself. The arena is the step's; the caller resets it.
 */
bool runner_tick(struct runner *r, struct arena *a, bool *ret_worked, struct err *e)
	__attribute__((warn_unused_result));

/*
 * The same walk without sending: real reads, mutations listed. The plan:
 * {"kind","target","steps":[{"step","phase","title","action":"call|none|wait|
 * stage|not_known","what","call","request","class"}],"resources":[…],
 * "checks":[{"what","data"}],"warnings":[…],"plan_digest","at_stake":[…],"confirm",
 * "incomplete":"checks|rest","not_known":[{"step","title","why","code","fix"}]}; at_stake
 * and confirm when something is lost: see step_stake(). Fails when a step would fail with
 * what is known now.
 *
 * What a step says by itself that it does not know is a row of not_known without a code.
 * What had no answer is no failure: a check (step.check) is not known and the plan goes
 * on ("incomplete":"checks"); at any other row it ends ("rest"), has no `confirm`, and
 * its digest is that of no whole plan. Only when nothing was found out before is the
 * missing answer the error.
 */
bool runner_plan(struct runner *r, struct arena *a, const struct kind *k,
		 const char *target, const json_t *input, json_t **ret_plan,
		 struct err *e) __attribute__((warn_unused_result));
/* For who is going to run it: fails where the plan would end early. */
bool runner_plan_whole(struct runner *r, struct arena *a, const struct kind *k,
		       const char *target, const json_t *input, json_t **ret_plan,
		       struct err *e) __attribute__((warn_unused_result));

/*
 * The walk up to the last row that may put something at stake (all rows when none
 * says so): whether `at_stake` is there, and what it is, as in the whole plan.
 */
bool runner_stakes(struct runner *r, struct arena *a, const struct kind *k,
		   const char *target, const json_t *input, json_t **ret_plan,
		   struct err *e) __attribute__((warn_unused_result));

/*
 * The walk for what it must be allowed: *ret_needs are rows of aws_rights(), as far as
 * it came. Reads are tried once, and not after until_ms of the monotonic clock.
 */
bool runner_rights(struct runner *r, struct arena *a, const struct kind *k,
		   const char *target, const json_t *input, int64_t until_ms,
		   json_t **ret_needs, struct err *e) __attribute__((warn_unused_result));

/* One exchange, with no journal around it; used by both of the above. */
void runner_exchange(struct runner *r, const struct exchange *x, const char *token,
		     struct arena *a, struct answer *ret);
/* The same for a look that can wait: one who has not answered lately is not asked, which
 * is a failure of its own (CLOUD_UNREACHABLE). */
void runner_look(struct runner *r, const struct exchange *x, struct arena *a,
		 struct answer *ret);

/* Mermaid state diagram of a kind, for the docs. */
void kind_diagram(const struct kind *k, struct buf *out);
/* All of them, as a Markdown page. */
void kind_diagrams(const struct kind *const *kinds, struct buf *out);

#ifdef CRASHPOINTS
/* Test builds only: called at every named boundary of a step. */
extern void (*crashpoint_hook)(const char *point, const struct step *s);
#define CRASHPOINT(point, step)                                                          \
	do {                                                                             \
		if (crashpoint_hook)                                                     \
			crashpoint_hook((point), (step));                                \
	} while (0)
#else
#define CRASHPOINT(point, step) ((void)0)
#endif

#endif
