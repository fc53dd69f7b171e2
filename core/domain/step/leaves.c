#include "core/domain/step/leaves.h"

const struct leaves leaves_deletion = {
	.no_stop = "A deletion that AWS has taken cannot be stopped.",
};
const struct leaves leaves_action = {
	.no_stop = "SageMaker has no call that stops it.",
};
const struct leaves leaves_addon = {
	.no_stop = "An add-on that is being installed goes on to the end; what it brings "
		   "costs nothing by itself.",
};
const struct leaves leaves_chart = {
	.no_stop = "The release stands; its pods start when nodes can run them.",
};

const struct wait wait_eks = {
	.cloud_s = 20 * 60,
	.rule = "An EKS control plane takes 8 to 20 minutes to come or to change",
};
const struct wait wait_kubernetes = {
	.rule = "Kubernetes has no limit of its own",
};
const struct wait wait_deletion = {
	.rule = "A deletion has no limit of its own; what blocks it is named",
};
const struct wait wait_update = {
	.rule = "UpdateCluster publishes no limit",
};
const struct wait wait_software = {
	.rule = "A software update takes 20 to 60 minutes a batch, and as many batches as "
		"its deployment asks for",
};
const struct wait wait_nodes = {
	.cloud_s = 2 * 3600,
	.rule = "A replaced node runs deep health checks again: one to two hours",
};
