/*
 * plan_shown.h - a plan as it is answered: as long as a person can read.
 *
 * What is at stake grows with a cluster: thousands of nodes, each with its pods. The
 * answer has the first PLAN_SHOWN rows of each such list and, in `counts`, how many there
 * are; a list of texts inside a row ends with "and n more". The digest and the word for
 * `confirm` are of the whole plan, so that what is not shown is still bound by them.
 */
#ifndef INSTANTSTART_OP_PLAN_SHOWN_H
#define INSTANTSTART_OP_PLAN_SHOWN_H

#include <jansson.h>

#include "core/base/arena.h"

enum { PLAN_SHOWN = 50 };

/* The word that confirms these losses: a function of all rows. Of the arena. */
const char *plan_word(struct arena *a, const json_t *at_stake);
/* A tree of the arena; the plan is not changed. */
json_t *plan_shown(struct arena *a, const json_t *plan);

#endif
