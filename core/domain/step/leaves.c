#include "core/domain/step/leaves.h"

const struct leaves leaves_deletion = {
	.no_stop = "A deletion that AWS has accepted cannot be stopped.",
};
const struct leaves leaves_action = {
	.no_stop = "SageMaker has no call to stop it.",
};
const struct leaves leaves_addon = {
	.no_stop = "The installation of an add-on runs to its end. The add-on itself "
		   "costs nothing.",
};
const struct leaves leaves_chart = {
	.no_stop = "The Helm release is installed. Its pods start when nodes can run "
		   "them.",
};

const struct wait wait_eks = {
	.cloud_s = 20 * 60,
	.rule = "Creating or changing an EKS control plane takes 8 to 20 minutes",
};
const struct wait wait_kubernetes = {
	.rule = "Kubernetes has no time limit for this",
};
const struct wait wait_deletion = {
	.rule = "A deletion has no time limit. What blocks it is reported",
};
const struct wait wait_update = {
	.rule = "AWS publishes no time limit for UpdateCluster",
};
const struct wait wait_software = {
	.rule = "A software update takes 20 to 60 minutes per batch",
};
const struct wait wait_nodes = {
	.cloud_s = 2 * 3600,
	.rule = "A replaced node runs deep health checks again, which take one to two "
		"hours",
};
