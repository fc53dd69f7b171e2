/*
 * control.h - controllers of the simulated cluster, on the clock of the cloud.
 *
 * ks_run_*() bring one kind of thing one step on; they are called until nothing
 * is written any more.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_KUBE_CONTROL_H
#define INSTANTSTART_TESTS_CLOUD_KUBE_CONTROL_H

#include "tests/cloud/kube/store.h"

/* Holds a definition until its objects are gone. */
#define KS_CRD_CLEANUP "customresourcecleanup.apiextensions.k8s.io"

/* --- controllers --- */
void ks_run_namespaces(struct ks *k);
void ks_run_storage(struct ks *k);
void ks_run_workloads(struct ks *k);
void ks_run_jobs(struct ks *k);
void ks_run_scheduler(struct ks *k);
void ks_run_kubelet(struct ks *k);
void ks_run_garbage(struct ks *k);
void ks_run_crds(struct ks *k);
void ks_run_balancers(struct ks *k);
void ks_run_roles(struct ks *k);
void ks_run_api_services(struct ks *k);
void ks_event(struct ks *k, const json_t *about, const char *type, const char *reason,
	      const char *component, const char *message);
void ks_set_condition(json_t *obj, int64_t now_ms, const char *type, const char *status,
		      const char *reason, const char *message);
/* Writes when `next` differs from the stored one; steals next. */
bool ks_update_if_changed(struct ks *k, const struct ks_kind *kind, const json_t *live,
			  json_t *next);
json_t *ks_owner_ref(const json_t *owner);
/* When the object's next change is due: set once, `after_ms` of real time on. */
int64_t ks_due(struct ks *k, const json_t *obj, int64_t after_ms);
void ks_due_clear(struct ks *k, const json_t *obj);
int64_t ks_setting(struct ks *k, const char *name, int64_t fallback);
void ks_drop_finalizer(struct ks *k, const struct ks_kind *kind, const json_t *live,
		       const char *name);
json_t *ks_snapshot(struct ks *k, struct arena *a, const char *resource);
bool ks_pod_done(const json_t *pod);
bool ks_pod_ready(const json_t *pod);
/* When the oldest ready pod behind the service became ready; -1: none is. */
int64_t ks_served_since(struct ks *k, const char *ns, const json_t *service);

/* --- aggregate.c: APIs that another server answers --- */
json_t *ks_api_services(struct ks *k, struct arena *a);
bool ks_api_available(const json_t *service);
/* "metrics.k8s.io/v1beta1" */
const char *ks_api_version_of(struct arena *a, const json_t *service);
/* Those that nobody answers, in discovery's words; "": there are none. */
const char *ks_apis_stale(struct ks *k, struct arena *a);
const char *ks_apis_stale_count(struct ks *k, struct arena *a);
bool ks_owned_by(const json_t *obj, const json_t *owner);
void ks_new_pod(struct ks *k, const json_t *owner, const json_t *template,
		const char *name, const char *node);
const char *ks_suffix(struct ks *k, struct arena *a, int n);
/* nodeSelector and required node affinity. */
bool ks_node_selected(const json_t *spec, const json_t *node);
/* NULL: the node would take the pod (whether it is ready or not); else what is
 * missing, in the scheduler's words. */
const char *ks_node_refuses(struct ks *k, struct arena *a, const json_t *spec,
			    const json_t *node);
/* NULL: may be mounted on the node; else the kubelet's words. */
const char *ks_mount_problem(struct ks *k, struct arena *a, const json_t *pod,
			     const char *node);
/* What an S3 probe Job would meet: NULL, or the error its command prints. */
const char *ks_probe_problem(struct ks *k, struct arena *a, const json_t *pod);

#endif
