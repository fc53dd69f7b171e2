/*
 * sagemaker.h - what the parts of simulated HyperPod share.
 *
 * Tables, with the API's members under their names and ours under "_name":
 *   sagemaker.cluster  name -> DescribeCluster's members, _id, _eks (name of the
 *                      EKS cluster), _tags, _events (oldest first), _until_ms
 *   sagemaker.node     logical id -> ClusterNodeDetails, _cluster, _eks, _phase,
 *                      _until_ms, _eni, _subnet
 * A node's _phase: wanted (no instance yet), booting (an instance runs the
 * lifecycle scripts), joining (in Kubernetes, not Ready yet), checking (deep
 * health checks), running, failed, leaving (ShuttingDown), replacing (leaving,
 * to be wanted again).
 *
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks.html
 */
#ifndef INSTANTSTART_TESTS_CLOUD_SAGEMAKER_H
#define INSTANTSTART_TESTS_CLOUD_SAGEMAKER_H

#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloud.h"
#include "tests/cloud/listing.h"

#define SM_CLUSTERS "sagemaker.cluster"
#define SM_NODES    "sagemaker.node"

/* One cluster at one instant. */
struct sm_work {
	struct cloud *cloud;
	struct arena *arena;
	json_t *cluster;
	const char *name;
	int64_t now_ms;
};

/* By name or ARN; NULL: ResourceNotFound. */
json_t *sm_need_cluster(struct cloud_call *c);
struct sm_work sm_work_of(struct cloud_call *c, json_t *cluster);
bool sm_is_continuous(const json_t *cluster);
void sm_set_status(struct sm_work *w, const char *status, const char *failure);
bool sm_page(struct cloud_call *c, const char *member, const json_t *list,
	     json_t **ret_out);
/* Newest first unless SortOrder says otherwise; by time or NAME (`name`). */
json_t *sm_sorted(struct cloud_call *c, json_t *list, const char *time, const char *name);

/* cluster.c */
cloud_handler sm_create_cluster, sm_describe_cluster, sm_update_cluster,
	sm_delete_cluster, sm_list_clusters;
/* The access entries that HyperPod made for the groups' roles. */
void sm_drop_entries(struct sm_work *w);
void sm_cluster_event(struct sm_work *w, const char *text);
/* life.c */
void sm_clusters_advance(struct cloud *c, int64_t now_ms);
/* MinInstanceCount of a group that has grown: three hours, then it goes back. */
void sm_min_gate(struct sm_work *w, json_t *group, const json_t *was);
/* software.c */
cloud_handler sm_update_software;
void sm_software_advance(struct sm_work *w);

/* autoscale.c: AutoScaling and ClusterRole of a request; cluster NULL: a new one. */
bool sm_autoscale_check(struct cloud_call *c, const json_t *cluster);
void sm_autoscale_set(struct sm_work *w, const json_t *in);
void sm_autoscale_advance(struct sm_work *w);

/* check.c: what CreateCluster and UpdateCluster refuse. */
bool sm_check_cluster(struct cloud_call *c);
bool sm_check_groups(struct cloud_call *c, const json_t *groups, bool continuous);

/* limit.c: quotas and capacity. */
bool sm_check_quota(struct cloud_call *c, const char *type, bool spot, int64_t more);
/* NULL: there is an instance to be had; else what AWS says. */
const char *sm_no_capacity(struct sm_work *w, const json_t *group);

/* group.c */
json_t *sm_group(const json_t *cluster, const char *name);
/* The stored details after a specification was sent; was NULL: a new group. */
json_t *sm_group_from(const json_t *spec, const json_t *was);
const char *sm_group_type(const json_t *group);
/* Makes the number of nodes follow the target; refreshes the counts. */
void sm_group_reconcile(struct sm_work *w, json_t *group);
void sm_group_count(struct sm_work *w, json_t *group);
void sm_groups_count(struct sm_work *w); /* all of them, in one walk */
void sm_group_drop(struct sm_work *w, const char *name);

/* node.c */
json_t *sm_node_add(struct sm_work *w, const json_t *group);
void sm_node_remove(struct sm_work *w, json_t *node);
void sm_node_replace(struct sm_work *w, json_t *node);
void sm_node_reboot(struct sm_work *w, json_t *node);
void sm_node_advance(struct sm_work *w, const char *id, json_t *node);
bool sm_node_phase(const json_t *node, const char *phase);
json_t *sm_node_find(struct cloud *c, const char *cluster, const char *instance_id);
bool sm_is_counted(const json_t *node);

/* boot.c: what happens before a node may join. NULL: fine. */
const char *sm_boot_failure(struct sm_work *w, const json_t *group, const json_t *node,
			    bool *ret_scripts_ran);
/* The script's URI; its text is NULL when the node cannot read it. */
const char *sm_boot_script(struct sm_work *w, const json_t *group, const char **ret_text);
/* log.c */
void sm_boot_log(struct sm_work *w, const json_t *group, const json_t *node, bool failed);
/* The network interfaces in the user's VPC. false: *ret_why. */
bool sm_boot_interface(struct sm_work *w, const json_t *group, json_t *node,
		       const char **ret_why);
void sm_boot_detach(struct sm_work *w, json_t *node);
const json_t *sm_group_vpc(const json_t *cluster, const json_t *group);

/* kubenode.c */
void sm_kube_put(struct sm_work *w, const json_t *group, const json_t *node, bool ready);
void sm_kube_remove(struct sm_work *w, const json_t *node);

/* health.c: faults of nodes, and automatic recovery. */
const char *sm_health_word(const json_t *node); /* of the label */
/* The agent's labels go with the fault. */
void sm_health_clean(const json_t *node, json_t *labels);
void sm_health_advance(struct sm_work *w, json_t *node);

/* batch.c, read.c, event.c, plan.c */
cloud_handler sm_batch_add, sm_batch_delete, sm_batch_reboot, sm_batch_replace;
cloud_handler sm_list_nodes, sm_describe_node;
cloud_handler sm_list_events, sm_describe_event;
cloud_handler sm_list_plans, sm_describe_plan, sm_search_offerings;
const json_t *sm_plan_by_arn(struct cloud *c, const char *arn);

struct sm_event {
	const char *level; /* "Info", "Warn", "Error" */
	const char *type;  /* "Cluster", "InstanceGroup", "Instance" */
	const char *group, *instance, *logical_id;
	const char *text;
	const char *failure;   /* FailureMessage of the metadata */
	const char *lcs_state; /* LcsExecutionState */
};
void sm_event(struct sm_work *w, const struct sm_event *e);

#endif
