/*
 * owner.h - whose a thing in the cloud is: the one rule of every adoption and removal.
 *
 * Names say nothing: another installation of the same account can have a cluster of the
 * same name, and so can one that was deleted and made anew by somebody else. A thing is
 * ours by installation, cluster and operation together, which it says in its tags, or in
 * its labels inside Kubernetes (there the operation is in the ledger).
 *
 * Things that were made before there was a tag for the installation are ours when their
 * tag names an operation of where.earlier, or the ledger of that time names the object.
 * An operation of where.earlier that goes on, or is tried again, tags as it began: the
 * service compares a repeated request with the first one.
 */
#ifndef INSTANTSTART_OP_OWNER_H
#define INSTANTSTART_OP_OWNER_H

#include "core/op/kind.h"

enum owner {
	OWNER_US,           /* this installation's, for this cluster */
	OWNER_NOBODY,       /* says nothing of InstantStart */
	OWNER_CLUSTER,      /* this installation's, for another cluster */
	OWNER_INSTALLATION, /* another installation's */
	OWNER_UNKNOWN       /* says our words, but no operation of ours has made it */
};

/* What a thing says of itself; NULL: nothing. */
struct mark {
	const char *installation, *cluster, *operation;
};

/* EC2 and IAM say Key and Value, Tagging APIs key and value, EKS gives a map. */
struct mark mark_of_tags(const json_t *tags);
struct mark mark_of_labels(const json_t *labels);

enum owner owner_of_tags(const struct step_ctx *c, const json_t *tags);
/*
 * What has labels: `cluster` is the value that its label of the cluster would have (one
 * without that label is of the cluster that it is in), `type` and `id` are the ledger's.
 */
enum owner owner_of_mark(const struct step_ctx *c, const struct mark *m,
			 const char *cluster, const char *type, const char *id);
/* A Kubernetes object: managed by us, and the rule above. */
enum owner owner_of_object(const struct step_ctx *c, const json_t *object,
			   const char *cluster, const char *type);

#define LABEL_INSTALLATION "instantstart/installation"
#define LABEL_CLUSTER      "instantstart/cluster"
#define LABEL_MANAGED      "app.kubernetes.io/managed-by"

/* LABEL_INSTALLATION among an object's labels. */
void owner_label(const struct step_ctx *c, json_t *object);

/* A cause of a refusal that says whose the thing is; NULL tags: it has none. */
void owner_tell(struct step_ctx *c, struct err *e, const json_t *tags);
void owner_tell_mark(struct step_ctx *c, struct err *e, enum owner owner,
		     const struct mark *m);

#endif
