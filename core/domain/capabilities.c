/*
 * Every capability, one line each. The order is that of the tools list, of
 * the OpenAPI document and of the reference: it is fixed, new rows go to the
 * end of their group.
 */
#include <stddef.h>

#include "core/domain/capability.h"

/* what can be had */
extern const struct capability cap_list_availability_zones;
extern const struct capability cap_list_instance_types;
extern const struct capability cap_check_quotas;
extern const struct capability cap_list_training_plans;
extern const struct capability cap_get_training_plan;
extern const struct capability cap_search_training_plan_offerings;
/* clusters */
extern const struct capability cap_create_cluster;
extern const struct capability cap_list_clusters;
extern const struct capability cap_get_cluster;
extern const struct capability cap_select_cluster;
extern const struct capability cap_create_eks_control_plane;
extern const struct capability cap_import_cluster;
extern const struct capability cap_reconcile_dependencies;
extern const struct capability cap_get_dependencies;
extern const struct capability cap_create_hyperpod_cluster;
extern const struct capability cap_get_hyperpod_cluster;
extern const struct capability cap_get_features;
extern const struct capability cap_update_features;
extern const struct capability cap_create_s3_storage;
extern const struct capability cap_list_storages;
extern const struct capability cap_delete_storage;
extern const struct capability cap_delete_cluster;
extern const struct capability cap_forget_cluster;
extern const struct capability cap_list_hyperpod_clusters;
/* instance groups */
extern const struct capability cap_list_instance_groups;
extern const struct capability cap_get_instance_group;
extern const struct capability cap_add_instance_group;
extern const struct capability cap_scale_instance_group;
extern const struct capability cap_update_instance_group;
extern const struct capability cap_delete_instance_group;
extern const struct capability cap_update_cluster_software;
/* nodes */
extern const struct capability cap_list_nodes;
extern const struct capability cap_get_node;
extern const struct capability cap_reboot_nodes;
extern const struct capability cap_replace_nodes;
extern const struct capability cap_delete_nodes;
/* autoscaling */
extern const struct capability cap_list_node_classes;
extern const struct capability cap_create_node_class;
extern const struct capability cap_delete_node_class;
extern const struct capability cap_list_node_pools;
extern const struct capability cap_create_node_pool;
extern const struct capability cap_delete_node_pool;
extern const struct capability cap_list_pending_pods;
extern const struct capability cap_list_cluster_events;
extern const struct capability cap_get_cluster_event;
/* pods */
extern const struct capability cap_list_pods;
extern const struct capability cap_get_pod_logs;
extern const struct capability cap_download_pod_logs;
/* operations */
extern const struct capability cap_list_operations;
extern const struct capability cap_get_operation;
extern const struct capability cap_list_events;
extern const struct capability cap_retry_operation;
extern const struct capability cap_cancel_operation;
extern const struct capability cap_answer_operation;
/* access */
extern const struct capability cap_get_me;
extern const struct capability cap_sign_out;
extern const struct capability cap_sign_out_everywhere;
extern const struct capability cap_create_token;
extern const struct capability cap_list_tokens;
extern const struct capability cap_revoke_token;
extern const struct capability cap_list_audit;
extern const struct capability cap_verify_audit;

const struct capability *const capabilities[] = {
	/* what can be had */
	&cap_list_availability_zones,
	&cap_list_instance_types,
	&cap_check_quotas,
	&cap_list_training_plans,
	&cap_get_training_plan,
	&cap_search_training_plan_offerings,
	/* clusters */
	&cap_create_cluster,
	&cap_list_clusters,
	&cap_get_cluster,
	&cap_select_cluster,
	&cap_create_eks_control_plane,
	&cap_import_cluster,
	&cap_reconcile_dependencies,
	&cap_get_dependencies,
	&cap_create_hyperpod_cluster,
	&cap_get_hyperpod_cluster,
	&cap_get_features,
	&cap_update_features,
	&cap_create_s3_storage,
	&cap_list_storages,
	&cap_delete_storage,
	&cap_delete_cluster,
	&cap_forget_cluster,
	&cap_list_hyperpod_clusters,
	/* instance groups */
	&cap_list_instance_groups,
	&cap_get_instance_group,
	&cap_add_instance_group,
	&cap_scale_instance_group,
	&cap_update_instance_group,
	&cap_delete_instance_group,
	&cap_update_cluster_software,
	/* nodes */
	&cap_list_nodes,
	&cap_get_node,
	&cap_reboot_nodes,
	&cap_replace_nodes,
	&cap_delete_nodes,
	/* autoscaling */
	&cap_list_node_classes,
	&cap_create_node_class,
	&cap_delete_node_class,
	&cap_list_node_pools,
	&cap_create_node_pool,
	&cap_delete_node_pool,
	&cap_list_pending_pods,
	&cap_list_cluster_events,
	&cap_get_cluster_event,
	/* pods */
	&cap_list_pods,
	&cap_get_pod_logs,
	&cap_download_pod_logs,
	/* operations */
	&cap_list_operations,
	&cap_get_operation,
	&cap_list_events,
	&cap_retry_operation,
	&cap_cancel_operation,
	&cap_answer_operation,
	/* access */
	&cap_get_me,
	&cap_sign_out,
	&cap_sign_out_everywhere,
	&cap_create_token,
	&cap_list_tokens,
	&cap_revoke_token,
	&cap_list_audit,
	&cap_verify_audit,
	NULL,
};
