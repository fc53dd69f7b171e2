/*
 * stake.h - what is lost when a thing goes, is replaced or restarted: asked in one
 * place, of everything that can refer to it.
 *
 * A kind that removes, replaces or restarts has a STAKE_STEP before its first change.
 * Its spec names the things; the table of references (reference.c) says who is asked
 * for a thing of each type. In a plan the rows that something was found for are at
 * stake, and whoever asked must send the plan's word. In a run what has come since
 * was confirmed by nobody: the step fails, and nothing was changed.
 *
 * A thing is {"type", "name", …}; a row of the answer is {TYPE: NAME, …lists of
 * texts}, one list for each reference that holds something. Types:
 *
 *	node            name: its id; kube: its name in Kubernetes, or absent;
 *	                keeps_disks: it is restarted only; evicts: taints that do it
 *	instance_group  name
 *	storage         name: the claim; namespace
 *	feature         name: as update_features has it
 *	node_class      name
 */
#ifndef INSTANTSTART_DOMAIN_STAKE_STAKE_H
#define INSTANTSTART_DOMAIN_STAKE_STAKE_H

#include "core/op/kind.h"

struct stake_spec {
	/* Reads that tell which things they are; NULL: none. */
	bool (*observe)(struct step_ctx *c, struct exchange *x);
	/* A list of the arena; NULL: a verdict was set, or nothing is lost. */
	json_t *(*things)(struct step_ctx *c);
	const char *what; /* "the nodes that go" */
};

bool stake_observe(struct step_ctx *c, struct exchange *x);
void stake_plan(struct step_ctx *c, struct exchange *x);

/* For steps that look at more: the reads; the rows, of the arena. */
bool stake_read(struct step_ctx *c, struct exchange *x, const json_t *things);
json_t *stake_rows(struct step_ctx *c, const json_t *things);
/*
 * Puts rows at stake while planning. In a run: false when a row has something that
 * input.confirmed has not; the step has failed then. Without input.confirmed (a stage
 * of a pipeline that was confirmed as a whole) nothing is asked.
 */
bool stake_settle(struct step_ctx *c, const json_t *rows, const char *what);

/* --- pods and nodes ------------------------------------------------------------- */

/* It ends with its node, and is not on every node anyway. */
bool pod_counts(const json_t *pod);
/* Adds a text for each volume that does not outlive the node. */
void pod_local_volumes(const json_t *pod, json_t *list);
/* Pods of these nodes (names in Kubernetes): reads, then {name: [pod]}. */
bool stake_read_pods(struct step_ctx *c, struct exchange *x, const json_t *names);
json_t *stake_pods(struct step_ctx *c, const json_t *names);

#define STAKE_STEP(row, words, spec)                                                     \
	{                                                                                \
		.name = (row), .phase = "check", .title = (words),                       \
		.effect = EFFECT_READ, .stakes = true, .observe = stake_observe,         \
		.seen = read_seen, .plan = stake_plan, .arg = (spec)                     \
	}

#endif
