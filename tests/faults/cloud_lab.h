/*
 * cloud_lab.h - what the cloud world's files share.
 */
#ifndef INSTANTSTART_TESTS_FAULTS_CLOUD_LAB_H
#define INSTANTSTART_TESTS_FAULTS_CLOUD_LAB_H

#include <jansson.h>

#include "tests/cloud/cloud.h"
#include "tests/faults/harness.h"

enum { MODELS_MAX = 512 };

struct lab {
	struct cloud *cloud;
	char models[MODELS_MAX];
	int mutations; /* asked for so far by the operation */
	int shut_at;   /* after this one nobody gets in; 0: never */
	/* [{op, step, key, helm, effects, at}] of those that arrived; at: the place in
	 * the cloud's ledger. */
	json_t *arrived;
	json_t *wanted; /* of the cloud when the operation began: cloud_wanted() */
	/* Around every request of a runner's mutation; may be NULL. */
	void (*watch)(struct harness *h, bool after);
};

/* cloud_scenarios.c. */
extern const struct scenario cloud_scenarios[]; /* ended by a NULL name */
/* What the cloud holds when create_cluster has been carried out. */
extern const struct scenario cloud_pipeline;

static inline struct lab *lab(struct harness *h)
{
	return h->world_state;
}

/* cloud_checks.c */
bool cloud_happened(struct harness *h, const char *op, const char *step,
		    const char *item);
void cloud_describe(struct harness *h, struct buf *out);
void cloud_check(struct harness *h);
/* cloud_others.c: false: there is nothing that could be moved so. */
bool cloud_others(struct harness *h, enum act a);
/* cloud_wanted.c */
json_t *cloud_wanted_of_group(const json_t *g); /* new */
const char *cloud_wanted_text(struct harness *h);
json_t *cloud_wanted(struct harness *h); /* new */
void cloud_check_wanted(struct harness *h);

#endif
