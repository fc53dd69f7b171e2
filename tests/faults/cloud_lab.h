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
	/* [{op, step, key, helm, effects}] of those that arrived. */
	json_t *arrived;
};

static inline struct lab *lab(struct harness *h)
{
	return h->world_state;
}

/* cloud_checks.c */
bool cloud_happened(struct harness *h, const char *op, const char *step,
		    const char *item);
void cloud_describe(struct harness *h, struct buf *out);
void cloud_check(struct harness *h);

#endif
