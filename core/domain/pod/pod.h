/*
 * pod.h - pods of a cluster and their logs, read now.
 *
 * A cluster's address comes from EKS, by way of the shared cache of reads; its
 * row is also where instantstart-live finds it.
 */
#ifndef INSTANTSTART_DOMAIN_POD_POD_H
#define INSTANTSTART_DOMAIN_POD_POD_H

#include "core/domain/capability.h"
#include "core/kube/kube.h"

#define POD_NAME_PATTERN "[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
#define POD_NS_PATTERN   "[a-z0-9]([-a-z0-9]*[a-z0-9])?"

enum { POD_TAIL_MAX = 5000 };

#define FIELD_NAMESPACE(S, m)                                                            \
	FIELD(S, m, .pattern = POD_NS_PATTERN, .max = 63, .dflt = "\"default\"",         \
	      .doc = "Namespace of the pod.")
#define FIELD_POD(S, m, more)                                                            \
	FIELD(S, m, .flags = FIELD_REQUIRED | (more), .pattern = POD_NAME_PATTERN,       \
	      .max = 253, .example = "\"train-0\"", .doc = "Name of the pod.")
#define FIELD_CONTAINER(S, m)                                                            \
	FIELD(S, m, .pattern = POD_NS_PATTERN, .max = 63,                                \
	      .doc = "Name of the container. Default: the pod's default container.")

/* Where a cluster's Kubernetes API is. *ret_key: of its cache row; may be NULL. */
bool pod_target(struct call *c, const char *cluster, struct kube_target *ret,
		const char **ret_key, struct err *e) __attribute__((warn_unused_result));
/* For a list that is empty with this filter (NULL: none): false when the cluster has no
 * such namespace. True when that is not known. */
bool pod_namespace_can_be(struct call *c, const struct kube_target *t, const char *ns,
			  struct err *e) __attribute__((warn_unused_result));
/* GET of a pod. NOT_FOUND. */
bool pod_read(struct call *c, const struct kube_target *t, const char *ns,
	      const char *pod, json_t **ret, struct err *e)
	__attribute__((warn_unused_result));
/* The named container, or which one is meant without a name. NOT_FOUND. */
bool pod_container(const json_t *pod, const char *wanted, const char **ret, struct err *e)
	__attribute__((warn_unused_result));

/* What a log subscription says, as query parameters; a struct of pod_follow.c. */
extern const struct field pod_follow_in[];
/*
 * Decodes and checks a subscription; *ret is what instantstart-live needs to know
 * of it: target, namespace, pod, container, previous, tail, epoch, after, time.
 */
bool pod_follow(struct call *c, const json_t *in, json_t **ret, struct err *e)
	__attribute__((warn_unused_result));
/* The same of the event stream: epoch, after. */
extern const struct field events_follow_in[];
bool events_follow(struct call *c, const json_t *in, json_t **ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
