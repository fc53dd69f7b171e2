/*
 * pending.h - why a pod waits for a node: one reason out of four places.
 *
 * What the scheduler, the pools, the claims and the cluster's events say is judged
 * pool by pool; the pool that came nearest to giving a node says the reason, and
 * the others stand behind it. Pure (cases AS-03, AS-05).
 */
#ifndef INSTANTSTART_DOMAIN_KARPENTER_PENDING_H
#define INSTANTSTART_DOMAIN_KARPENTER_PENDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"

/*
 * Nearest to a node first: the smaller one is the better reason. The words are
 * the answer's `code`.
 */
#define PENDING_CODES(X)                                                                 \
	X(STARTING, "node_starting")   /* a node is on its way */                        \
	X(CAPACITY, "no_capacity")     /* AWS has none now; it is tried again */         \
	X(QUOTA, "quota")              /* the account may not have more */               \
	X(NODE_FAILED, "node_failed")  /* nodes come, and do not join */                 \
	X(LIMIT, "limit_reached")      /* the pool may not have more */                  \
	X(TOO_SMALL, "type_too_small") /* no type has what the pod asks for */           \
	X(TYPE_NAME, "type_not_ml")    /* the pool names types of EC2 */                 \
	X(TYPE_MISSING,                                                                  \
	  "type_not_in_class")         /* the pool names types that no group has */      \
	X(MISMATCH, "no_match")        /* selector, affinity or taints */                \
	X(NOT_READY, "pool_not_ready") /* the pool or its class */                       \
	X(NO_POOL, "no_pool")          /* there is none: nothing makes nodes */          \
	X(SCHEDULER, "scheduler")      /* no matter of nodes: its own words */           \
	X(NOT_KNOWN, "not_known")      /* what it is judged by could not be read */

enum pending_code {
#define X(name, word) PENDING_##name,
	PENDING_CODES(X)
#undef X
};
const char *pending_code_name(enum pending_code code);

/* Everything that was read. Lists of Kubernetes objects unless said otherwise. */
struct pending_world {
	struct arena *arena;
	int64_t now_ms;
	const json_t *pools, *classes, *claims;
	const json_t *events;         /* of Kubernetes */
	const json_t *cluster_events; /* ListClusterEvents' Events */
	const json_t *types;          /* EC2's InstanceTypes */
	bool unread; /* some of it could not be read: no reason follows from the rest */
};

/* Waits for a node: not placed, not ended, and the scheduler has said no. */
bool pending_waits(const json_t *pod);
/*
 * {name, namespace, code, reason, fix?, node_pool?, since, tries?: {count,
 * first_at, last_at, last}, others: [{code, reason, node_pool}], scheduler}; new.
 */
json_t *pending_explain(const struct pending_world *w, const json_t *pod);

/* The reason of events about launches that failed. */
#define PENDING_EVENT "InsufficientCapacityError"
/* tries.c: failed launches of a pool's claims. NULL: none; new otherwise. */
json_t *pending_tries(const struct pending_world *w, const char *pool);
/* Whether the claim has its machine since the last try failed. */
bool pending_came(const json_t *claim, const json_t *tries);
/* "tried 14 times since 10:02, last: …" */
const char *pending_tries_text(struct arena *a, const json_t *tries);

/* fit.c: what a pod asks of nodes, and what a type has. */
struct pending_want {
	const json_t *pod;
	json_t *requests; /* resource -> number */
};
struct pending_want pending_want(struct arena *a, const json_t *pod);
/* A quantity of Kubernetes: "500m", "16Gi", 8. */
bool pending_quantity(const json_t *value, double *ret);
/* NULL: fits; else the resource that is short. Unknown types fit. */
const char *pending_short(const struct pending_world *w, const struct pending_want *want,
			  const char *type);
/* What a type has of a resource; 0: none, or nothing is known of it. */
double pending_has(const struct pending_world *w, const char *type, const char *resource);
/* NULL: the pod may go to nodes of the pool; else what keeps it away. */
const char *pending_mismatch(const struct pending_world *w, const json_t *pod,
			     const json_t *pool);
/* Those of the types that the pod itself takes: its selector, its node affinity. */
json_t *pending_selected(struct arena *a, const json_t *pod, const json_t *types);

#endif
