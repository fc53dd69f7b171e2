/* Every operation kind, one line each. Names are stored: see core/op/kind.h. */
#include <stddef.h>

#include "core/domain/capability.h"
#include "core/domain/cluster/kinds.h"
#include "core/domain/dependency/kinds.h"
#include "core/domain/feature/kinds.h"
#include "core/domain/group/group.h"
#include "core/domain/hyperpod/kinds.h"
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/node/kinds.h"
#include "core/domain/storage/kinds.h"

const struct kind *const kinds[] = {
	&kind_create_cluster,
	&kind_create_eks_control_plane,
	&kind_import_cluster,
	&kind_reconcile_dependencies,
	&kind_create_hyperpod_cluster,
	&kind_remove_hyperpod_cluster,
	&kind_update_features,
	&kind_set_training_operator,
	&kind_set_inference_operator,
	&kind_set_tiered_checkpointing,
	&kind_add_instance_group,
	&kind_scale_instance_group,
	&kind_update_instance_group,
	&kind_delete_instance_group,
	&kind_update_cluster_software,
	&kind_create_s3_storage,
	&kind_delete_storage,
	&kind_delete_cluster,
	&kind_set_autoscaling,
	&kind_create_node_class,
	&kind_delete_node_class,
	&kind_create_node_pool,
	&kind_delete_node_pool,
	&kind_reboot_nodes,
	&kind_replace_nodes,
	&kind_delete_nodes,
	NULL,
};
