/*
 * stage.h - the journal and the world at one instant, to begin from again.
 *
 * A run that is disturbed at its hundredth point need not walk to it: it goes on
 * from the last stage before. Rows are copied inside the database, the world
 * copies itself, and clock, chance and counters are put back, so that the way on
 * is the same as the first time.
 *
 * The journal's copy of a stage lives until stages_drop(); the world's is freed by
 * the world's drop().
 */
#ifndef INSTANTSTART_TESTS_FAULTS_STAGE_H
#define INSTANTSTART_TESTS_FAULTS_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/rng.h"

struct harness;
struct scenario;

struct stage {
	int number; /* of its rows in the journal's copy; 0: none */
	void *world;
	char target[16];
	char op[40];
	int64_t wall, mono;
	struct rng_seeded rng;
	int n_spots, n_ticks, turn, retries;
	int mutations;
};

/* Once for a database. */
void stages_init(struct harness *h);
/* Empties the journal. */
void stage_forget(struct harness *h);
void stage_save(struct harness *h, struct stage *ret);
void stage_restore(struct harness *h, const struct stage *s);
/* Drops the journal's rows of all whose number is `first` or more. */
void stages_drop(struct harness *h, int first);

#endif
