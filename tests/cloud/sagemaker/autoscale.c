/*
 * Managed autoscaling of a cluster: what UpdateCluster takes, and its states.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-autoscaling.html
 *
 * settings.autoscaling_failure: the text with which it ends Failed.
 */
#include "tests/cloud/iam.h"
#include "tests/cloud/karpenter/karpenter.h"
#include "tests/cloud/sagemaker/sagemaker.h"

enum { ENABLE_MS = 90 * 1000, DISABLE_MS = 60 * 1000 };

static bool bad(struct cloud_call *c, const char *message)
{
	return cloud_fault(c, "ValidationException", "%s", message);
}

static bool is_on(const json_t *cluster)
{
	return streq(json_str_at(cluster, "AutoScaling.Mode"), "Enable");
}

/* What the request says, else what the cluster has. */
static const char *said(struct cloud_call *c, const json_t *cluster, const char *member)
{
	return json_str_or(c->in, member, json_str_or(cluster, member, ""));
}

static bool check_role(struct cloud_call *c, const char *arn)
{
	if (!*arn)
		return bad(c, "ClusterRole is required when AutoScaling is enabled.");
	if (iam_role_assumable(c->cloud, arn, "hyperpod.sagemaker.amazonaws.com"))
		return true;
	return bad(
		c,
		arena_printf(
			c->arena,
			"SageMaker HyperPod cannot assume the cluster role %s: it could "
			"not be assumed because it does not exist, or the trusted entity "
			"is not correct.",
			arn));
}

static bool check_fixed(struct cloud_call *c, const json_t *cluster, bool stays_on)
{
	const char *role = json_str_at(c->in, "ClusterRole");

	if (role && !streq(role, json_str_or(cluster, "ClusterRole", role)))
		return bad(c,
			   "ClusterRole cannot be changed while AutoScaling is enabled.");
	if (stays_on && streq(json_str_at(c->in, "NodeRecovery"), "None"))
		return bad(
			c,
			"NodeRecovery must be Automatic while AutoScaling is enabled.");
	return true;
}

bool sm_autoscale_check(struct cloud_call *c, const json_t *cluster)
{
	const char *mode = json_str_at(c->in, "AutoScaling.Mode");
	bool stays_on = !streq(mode, "Disable");

	if (is_on(cluster) && !check_fixed(c, cluster, stays_on))
		return false;
	if (!streq(mode, "Enable"))
		return true;
	if (streq(json_str_at(cluster, "AutoScaling.Status"), "Deleting"))
		return cloud_fault(c, "ConflictException",
				   "AutoScaling is being disabled.");
	if (!sm_is_continuous(cluster ? cluster : c->in))
		return bad(c,
			   "AutoScaling requires NodeProvisioningMode to be Continuous.");
	if (streq(said(c, cluster, "NodeRecovery"), "None"))
		return bad(c, "AutoScaling requires NodeRecovery to be Automatic.");
	return check_role(c, said(c, cluster, "ClusterRole"));
}

static void set_state(struct sm_work *w, const char *mode, const char *status,
		      int64_t real_ms)
{
	json_object_set_new(w->cluster, "AutoScaling",
			    json_pack("{s:s,s:s,s:s}", "Mode", mode, "AutoScalerType",
				      "Karpenter", "Status", status));
	json_put_int(w->cluster, "_autoscaling_until_ms",
		     w->now_ms + cloud_ms(w->cloud, real_ms));
}

void sm_autoscale_set(struct sm_work *w, const json_t *in)
{
	const char *mode = json_str_at(in, "AutoScaling.Mode");
	const char *status = json_str_or(w->cluster, "AutoScaling.Status", "");

	if (streq(mode, "Enable") && (!is_on(w->cluster) || streq(status, "Failed")))
		set_state(w, "Enable", "Creating", ENABLE_MS);
	if (streq(mode, "Disable") && is_on(w->cluster)) {
		set_state(w, "Disable", "Deleting", DISABLE_MS);
		sm_cluster_event(w, "AutoScaling deletion started successfully.");
	}
}

/* NULL: the role lets the service add and remove nodes. */
static const char *denial(struct sm_work *w)
{
	const json_t *role =
		iam_find_role(w->cloud, json_str_or(w->cluster, "ClusterRole", ""));
	static const char *const actions[] = {"sagemaker:BatchAddClusterNodes",
					      "sagemaker:BatchDeleteClusterNodes"};

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!iam_role_mentions(role, actions[i]))
			return arena_printf(
				w->arena,
				"The cluster role is not authorized to perform "
				"%s on the cluster.",
				actions[i]);
	return NULL;
}

static void enabled(struct sm_work *w)
{
	const char *why = json_str_at(cloud_settings(w->cloud), "autoscaling_failure");

	if (!why)
		why = denial(w);
	if (why) {
		json_put_str(w->cluster, "AutoScaling.Status", "Failed");
		json_put_str(w->cluster, "AutoScaling.FailureMessage", why);
		sm_cluster_event(w, "AutoScaling creation failed.");
		return;
	}
	karpenter_install(w->cloud, json_str_or(w->cluster, "_eks", ""));
	json_put_str(w->cluster, "AutoScaling.Status", "InService");
	sm_cluster_event(w, "CustomResourceDefinition installation completed.");
	sm_cluster_event(w, "AutoScaling creation completed successfully.");
}

void sm_autoscale_advance(struct sm_work *w)
{
	const char *status = json_str_or(w->cluster, "AutoScaling.Status", "");
	bool due = w->now_ms >= json_int_or(w->cluster, "_autoscaling_until_ms", 0);

	if (streq(status, "InService")) {
		karpenter_advance(w);
	} else if (streq(status, "Creating") && due) {
		enabled(w);
	} else if (streq(status, "Deleting") && due) {
		karpenter_uninstall(w->cloud, json_str_or(w->cluster, "_eks", ""));
		json_drop(w->cluster, "AutoScaling");
		sm_cluster_event(w, "AutoScaling deletion completed successfully.");
	}
}
