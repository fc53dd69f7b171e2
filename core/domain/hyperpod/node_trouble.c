#include <string.h>

#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/step/given_role.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

enum trouble { NO_TROUBLE, SCRIPT_TROUBLE, EFA_TROUBLE, NETWORK_TROUBLE };

static const int LOG_TAIL_LINES = 20;

/* The first that fits; AWS's texts name the logs in any of them. */
static const struct {
	const char *says;
	enum trouble trouble;
} words[] = {
	{"EFA health check", EFA_TROUBLE},
	{"network misconfiguration", NETWORK_TROUBLE},
	{"network configuration", NETWORK_TROUBLE},
	{"lifecycle script", SCRIPT_TROUBLE},
	{"lifecycle config", SCRIPT_TROUBLE},
};

static enum trouble trouble_of(const char *text)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(text, words[i].says))
			return words[i].trouble;
	return NO_TROUBLE;
}

bool node_trouble_is(const char *text)
{
	return trouble_of(text) != NO_TROUBLE;
}

/* --- the log of its scripts ------------------------------------------------------ */

static const char *log_group(const struct step_ctx *c)
{
	const char *arn = json_str_or(saw(c, "hyperpod"), "ClusterArn", "");
	const char *slash = strrchr(arn, '/');

	return arena_printf(c->arena, "/aws/sagemaker/Clusters/%s/%s", hyperpod_name(c),
			    slash ? slash + 1 : "");
}

/* --- the role that they start with ------------------------------------------------ */

static const char role_service[] = "sagemaker.amazonaws.com";

static const char *group_role(const struct step_ctx *c)
{
	return json_str_at(json_find(json_at(saw(c, "hyperpod"), "InstanceGroups"),
				     "InstanceGroupName", step_input(c, "group_name")),
			   "ExecutionRole");
}

static bool role_read(struct step_ctx *c, struct exchange *x)
{
	const char *arn = group_role(c), *slash = arn ? strrchr(arn, '/') : NULL;

	return slash && read_aws(c, x, "nodes_role", AWS_IAM_GetRole,
				 json_packf(c->arena, "{s:s}", "RoleName", slash + 1));
}

/* Without it nothing is downloaded, run or logged: the script is not to blame. */
static bool role_failed(struct step_ctx *c, const char *text)
{
	const json_t *role = json_at(saw(c, "nodes_role"), "Role");
	const char *trusts = role ? role_trusts(c, role, role_service) : NULL;
	struct err *e;

	if (!trusts && !saw_missing(c, "nodes_role"))
		return false;
	e = step_fail(c, ERR_NODE_FAILED,
		      trusts ? "the nodes of %s cannot use their role %s: it trusts %s"
			     : "the nodes of %s have no role: %s has been deleted",
		      step_input(c, "group_name"), group_role(c), trusts);
	err_because(e, "sagemaker:cluster-event", "", text, NULL);
	if (trusts)
		err_fix(e,
			"Add %s to the role's trust policy (sts:AssumeRole), then "
			"retry.",
			role_service);
	else
		err_fix(e,
			"Create the role again with the same name, a trust policy for %s, and its earlier policies. Then retry.",
			role_service);
	return true;
}

/* Streams come by name, and those of nodes that are well are among them: with a prefix
 * the service does not sort by time. NULL: there is none. */
static const char *newest_stream(const struct step_ctx *c)
{
	const char *newest = NULL;
	int64_t at = -1;
	size_t i;
	json_t *v;

	json_array_foreach(json_at(saw(c, "streams"), "logStreams"), i, v)
		if (json_int_or(v, "lastEventTimestamp", 0) > at) {
			at = json_int_or(v, "lastEventTimestamp", 0);
			newest = json_str_at(v, "logStreamName");
		}
	return newest;
}

/* The lifecycle log of that instance, or the newest of the group; its last lines. */
bool node_trouble_read(struct step_ctx *c, struct exchange *x, const char *text,
		       const char *instance)
{
	const char *stream;

	if (trouble_of(text) != SCRIPT_TROUBLE)
		return false;
	if (role_read(c, x))
		return true;
	if (read_aws(c, x, "streams", AWS_LOGS_DescribeLogStreams,
		     json_packf(c->arena, "{s:s, s:o}", "logGroupName", log_group(c),
				"logStreamNamePrefix",
				json_sprintf("LifecycleConfig/%s/%s",
					     step_input(c, "group_name"), instance))))
		return true;
	stream = newest_stream(c);
	return stream &&
	       read_aws(c, x, "log", AWS_LOGS_GetLogEvents,
			json_packf(c->arena, "{s:s, s:s, s:b, s:i}", "logGroupName",
				   log_group(c), "logStreamName", stream, "startFromHead",
				   0, "limit", LOG_TAIL_LINES));
}

static void script_failed(struct step_ctx *c, const char *text)
{
	const json_t *lines = json_at(saw(c, "log"), "events");
	const char *stream = newest_stream(c),
		   *slash = stream ? strrchr(stream, '/') : NULL;
	struct err *e = step_fail(c, ERR_LIFECYCLE_SCRIPT,
				  "the lifecycle script failed on a node of %s%s%s",
				  step_input(c, "group_name"), slash ? ": " : "",
				  slash ? slash + 1 : "");
	struct buf tail;
	size_t i;
	json_t *line;

	err_because(e, "sagemaker:cluster-event", "", text, NULL);
	if (json_array_size(lines) == 0) {
		err_fix(e,
			"There is no log of the script in %s: the node failed before it "
			"could write one. Check the download of the script and the "
			"network path to S3.",
			log_group(c));
		return;
	}
	buf_init(&tail, c->arena, 8192);
	json_array_foreach(lines, i, line)
		buf_printf(&tail, "%s\n", json_str_or(line, "message", ""));
	step_event(
		c, "lifecycle_log",
		json_pack("{s:s, s:s}", "group", log_group(c), "tail", buf_cstr(&tail)));
	line = json_array_get(lines, json_array_size(lines) - 1);
	err_because(e, "lifecycle-script log", "", json_str_or(line, "message", ""),
		    NULL);
	err_fix(e,
		"The last lines are in the events of the operation (lifecycle_log). The "
		"whole log is in %s. Correct the script, then retry.",
		log_group(c));
}

/* --- before any script ----------------------------------------------------------- */

static void node_failed(struct step_ctx *c, const char *text, const char *what,
			const char *fix)
{
	struct err *e = step_fail(c, ERR_NODE_FAILED,
				  "%s on a node of %s. There is no log because the node "
				  "failed before its scripts started",
				  what, step_input(c, "group_name"));

	err_because(e, "sagemaker:cluster-event", "", text, NULL);
	err_fix(e, "%s", fix);
}

bool node_trouble_fail(struct step_ctx *c, const char *text)
{
	const char *group = step_get(c, "security_group_id");

	switch (trouble_of(text)) {
	case SCRIPT_TROUBLE:
		if (!role_failed(c, text))
			script_failed(c, text);
		return true;
	case EFA_TROUBLE:
		node_failed(c, text, "The EFA health check failed",
			    arena_printf(c->arena,
					 "Allow all protocols in the security group %s "
					 "from and to itself, as separate ingress and "
					 "egress rules. Then retry.",
					 group ? group : "of the nodes"));
		return true;
	case NETWORK_TROUBLE:
		node_failed(
			c, text, "The network is not configured correctly",
			"Give the subnet a route to NAT or an S3 endpoint, and enable "
			"DNS support in the VPC. Then retry.");
		return true;
	case NO_TROUBLE:
		break;
	}
	return false;
}

const char *cluster_event_reason(const json_t *detail)
{
	json_t *metadata = json_at(detail, "EventDetails.EventMetadata"), *of;
	const char *key;

	json_object_foreach(metadata, key, of) {
		const char *text = json_str_at(of, "FailureMessage");

		if (text && *text)
			return text;
	}
	return NULL;
}
