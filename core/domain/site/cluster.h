/*
 * cluster.h - which cluster a request means.
 */
#ifndef INSTANTSTART_DOMAIN_SITE_CLUSTER_H
#define INSTANTSTART_DOMAIN_SITE_CLUSTER_H

#include "core/domain/capability.h"

struct cluster {
	const char *name;
	const char *eks_name;
	const char *hyperpod_name; /* NULL: none yet */
	bool imported;
	const char *status;
	const char *roles; /* JSON list of names in capitals, or NULL: see names.h */
};

/* By name, or the caller's selected one for "-". NOT_FOUND. */
bool cluster_mean(struct call *c, const char *name, struct cluster *ret, struct err *e)
	__attribute__((warn_unused_result));
/*
 * The input of an operation on a cluster: the decoded request without the
 * path member `cluster`, plus eks_name and hyperpod_name where the catalog
 * knows them to differ from the name.
 */
json_t *cluster_input(struct call *c, const struct cluster *k, const void *in);
/* The handler of a row whose request, as it is, becomes the operation's input. */
bool cluster_submit(struct call *c, const struct kind *kind, const char *name,
		    const void *in, struct reply *ret, struct err *e);

#endif
