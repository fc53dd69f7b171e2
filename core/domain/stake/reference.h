/* reference.h - who refers to a thing: one row a reference, read and then found. */
#ifndef INSTANTSTART_DOMAIN_STAKE_REFERENCE_H
#define INSTANTSTART_DOMAIN_STAKE_REFERENCE_H

#include "core/op/kind.h"

struct reference {
	const char *type; /* of the thing */
	const char *name; /* of the list in the row */
	bool (*read)(struct step_ctx *c, struct exchange *x, const json_t *things);
	/* Adds a text for each that refers to the thing. pods: {node: [pod]} of all. */
	void (*find)(struct step_ctx *c, const json_t *thing, const json_t *pods,
		     json_t *list);
};

/* Names in Kubernetes of the things that are nodes. */
json_t *reference_nodes(struct step_ctx *c, const json_t *things);
/* Ended by a NULL type. */
extern const struct reference references[];

#endif
