/*
 * eks.h - what the parts of simulated EKS share.
 *
 * Tables, with the API's members under their names and ours under "_name":
 *   eks.cluster        name -> Cluster, _until_ms (end of the present phase),
 *                      _kube_id, _creator
 *   eks.addon          cluster|name -> Addon, _until_ms
 *   eks.access_entry   cluster|principal ARN -> AccessEntry, _policies
 *                      {policy ARN: AssociatedAccessPolicy}
 *   eks.pod_identity   association id -> PodIdentityAssociation
 *   eks.nodegroup      cluster|name -> Nodegroup; only looked at
 *   eks.update         id -> Update, _cluster, _addon
 */
#ifndef INSTANTSTART_TESTS_CLOUD_EKS_H
#define INSTANTSTART_TESTS_CLOUD_EKS_H

#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloud.h"
#include "tests/cloud/listing.h"

#define EKS_CLUSTERS   "eks.cluster"
#define EKS_ADDONS     "eks.addon"
#define EKS_ENTRIES    "eks.access_entry"
#define EKS_IDENTITIES "eks.pod_identity"
#define EKS_NODEGROUPS "eks.nodegroup"
#define EKS_UPDATES    "eks.update"

/* The cluster of the input's member; NULL: ResourceNotFoundException. */
json_t *eks_need_cluster(struct cloud_call *c, const char *member);
/* The same, ACTIVE; else ResourceInUse or InvalidRequest. */
json_t *eks_need_active(struct cloud_call *c, const char *member);
const char *eks_key(struct arena *a, const char *cluster, const char *name);
const char *eks_arn(struct cloud *c, struct arena *a, const char *rest);
bool eks_in_cluster(const char *key, const char *cluster);
bool eks_page(struct cloud_call *c, const char *member, const json_t *list,
	      json_t **ret_out);
/* NEW: go on. SAME: *ret_id. OTHER: the fault is set. */
enum replay eks_replay(struct cloud_call *c, const char **ret_id);
void eks_fault_members(struct cloud_call *c, const char *cluster);
json_t *eks_update(struct cloud_call *c, const char *type, const char *cluster,
		   const char *addon);

/* cluster.c */
cloud_handler eks_create_cluster, eks_describe_cluster, eks_list_clusters,
	eks_delete_cluster, eks_list_nodegroups;
void eks_clusters_advance(struct cloud *c, int64_t now_ms);
/* check.c: role, subnets, groups, version of a new cluster; *ret_vpc its VPC. */
bool eks_check_cluster(struct cloud_call *c, const char **ret_vpc);
/* network.c: what EKS puts into the VPC: its security group and interfaces. */
void eks_network_create(struct cloud_call *c, json_t *cluster, const char *vpc);
void eks_network_remove(struct cloud *c, const json_t *cluster);
/* kubernetes.c: the API server and what EKS itself writes to it. */
void eks_kubernetes_start(struct cloud *c, struct arena *a, json_t *cluster);
/* review.c: a TokenReview or SubjectAccessReview of its API server; NULL: neither. */
json_t *eks_review(struct cloud *c, struct arena *a, const char *cluster,
		   const json_t *asked);
int eks_ready_nodes(struct cloud *c, struct arena *a, const char *cluster,
		    bool tolerates);

/* addon.c, versions.c */
cloud_handler eks_create_addon, eks_describe_addon, eks_update_addon, eks_delete_addon,
	eks_list_addons, eks_describe_addon_versions, eks_describe_cluster_versions,
	eks_describe_update;
void eks_addons_advance(struct cloud *c, int64_t now_ms);
void eks_addons_forget(struct cloud *c, const char *cluster);

struct eks_addon_kind {
	const char *name;
	const char *version;  /* default one, "v1.2.3-eksbuild.1" */
	const char *ns;       /* where it lives */
	const char *workload; /* "deployment" or "daemonset" */
	bool needs_nodes;     /* DEGRADED without */
	bool pod_identity;    /* takes podIdentityAssociations (requiresIamPermissions) */
	const char *type;
};
const struct eks_addon_kind *eks_addon_kind(const char *name);
bool eks_version_known(const char *version);
const char *eks_default_version(void);

/* access.c, identity.c */
cloud_handler eks_create_access_entry, eks_describe_access_entry, eks_update_access_entry,
	eks_delete_access_entry, eks_list_access_entries, eks_associate_access_policy,
	eks_disassociate_access_policy, eks_list_associated_policies, eks_list_policies;
cloud_handler eks_create_identity, eks_describe_identity, eks_update_identity,
	eks_delete_identity, eks_list_identities;
/* What an add-on runs, from the registry of the region. */
const char *eks_image(struct cloud *c, struct arena *a);
/* "arn:aws:sts::A:assumed-role/R/s" is the role's ARN. */
const char *eks_principal(struct cloud *c, struct arena *a, const char *arn);
/* Puts an entry as the service does for itself; policy may be NULL. */
void eks_entry_put(struct cloud *c, struct arena *a, const char *cluster,
		   const char *principal, const char *type, const char *username,
		   const char *policy);
void eks_access_forget(struct cloud *c, const char *cluster);
bool eks_identity_put(struct cloud_call *c, const char *cluster, const char *ns,
		      const char *account, const char *role, const char *owner,
		      json_t **ret);

#endif
