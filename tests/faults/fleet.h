/*
 * fleet.h - hundreds of requests on one cluster at once, and what must hold after.
 *
 * One seed draws everything: requests, when they come, what others do to the cloud
 * meanwhile, faults, crashes, and a person's answers. The model is what every member
 * of every instance group should be, and who has written it last.
 */
#ifndef INSTANTSTART_TESTS_FAULTS_FLEET_H
#define INSTANTSTART_TESTS_FAULTS_FLEET_H

#include "tests/faults/cloud_lab.h"

#define FLEET_CLUSTER "(cluster)" /* the model's group of the cluster's own members */
#define FLEET_OUTSIDE "outside"   /* writers that are no operation */
#define FLEET_CLOUD   "cloud"

enum { FLEET_OPEN = 40 };

struct fleet {
	struct harness *h;
	uint64_t seed;
	bool verbose;
	struct rng_seeded rng;
	struct arena arena; /* of one look */
	int64_t n_requests; /* to be sent */
	int64_t sent, accepted, refused, same, ended;
	int64_t retries, cancels, answers, outsides, crashes_permille;
	int64_t most_open;
	int64_t n_spent, n_wanted; /* what I9 and I11 have been asked of */
	bool quiet;                /* nothing goes wrong any more */
	int64_t seq;               /* of writes to the model */
	int64_t outside_seq;       /* of the last one by somebody else */
	int64_t capacity_until_ms;
	json_t *model;  /* group -> member -> {v, by, n} */
	json_t *ops;    /* id -> {kind, input, begun, ended} of roots and stages */
	json_t *cuts;   /* [{at, op}]: from there on a repeat is another one's */
	json_t *ends;   /* "kind state code" -> how often */
	json_t *before; /* "table id" of what was there at first */
};

/* fleet_draw.c: one request. Its input is owned by h->run. */
struct fleet_request {
	const char *kind;
	json_t *input;
};
struct fleet_request fleet_draw(struct fleet *f);
/* One of the instances that there are, or NULL. */
const char *fleet_node(struct fleet *f);

/* fleet_people.c. False: refused, by a lock that its answer names. */
bool fleet_submit(struct fleet *f, const char *kind, json_t *input, bool queue);
/* False: it has ended meanwhile, or its lock is another's. */
bool fleet_order(struct fleet *f,
		 bool (*order)(struct db *, struct arena *, const struct order *,
			       struct str *, struct err *),
		 const char *op, json_t *args);
void fleet_request_one(struct fleet *f);
void fleet_answer(struct fleet *f);
void fleet_cancel(struct fleet *f);

/* fleet_outside.c: somebody else does something, straight in the cloud. */
void fleet_outside(struct fleet *f);

/* fleet_model.c */
json_t *fleet_cluster(struct fleet *f);
void fleet_model_begin(struct fleet *f);
/* What differs from the model is written by `by`; blames when it must not. */
void fleet_sync(struct fleet *f, const char *by);
/* Looks before and after every request of a runner. */
void fleet_watch_this(struct fleet *f);
/* {kind, input, …} of the operation. */
json_t *fleet_op(struct fleet *f, const char *id);
/* It has succeeded: what it planned is so, or somebody else has written since. */
void fleet_judge_success(struct fleet *f, const char *id);

/* fleet_wish.c: {group, add, delete, set: {member: value}, may: [member]} */
json_t *fleet_wish(struct fleet *f, const json_t *op);

/* From now on a repeated effect of the operation ("*": of all) is another one. */
void fleet_cut(struct fleet *f, const char *op);

/* fleet_checks.c: after all have ended. */
void fleet_remember(struct fleet *f);
void fleet_check(struct fleet *f);
/* I11, when the operation has ended as cancelled or failed. */
void fleet_check_wanted(struct fleet *f, const char *id);
/* When everything was switched off and deleted again. */
void fleet_check_left(struct fleet *f);
void fleet_check_catalog(struct fleet *f);
/* Of all that has arrived at the cloud, in order. */
const char *fleet_digest(struct fleet *f);

#endif
