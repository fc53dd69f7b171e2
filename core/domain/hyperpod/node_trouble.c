#include <string.h>

#include "core/domain/hyperpod/hyperpod.h"
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

/* The newest lifecycle log of the group, then its last lines. */
bool node_trouble_read(struct step_ctx *c, struct exchange *x, const char *text)
{
	const char *stream;

	if (trouble_of(text) != SCRIPT_TROUBLE)
		return false;
	if (read_aws(c, x, "streams", AWS_LOGS_DescribeLogStreams,
		     json_packf(c->arena, "{s:s, s:o}", "logGroupName", log_group(c),
				"logStreamNamePrefix",
				json_sprintf("LifecycleConfig/%s/",
					     step_input(c, "group_name")))))
		return true;
	stream = json_str_at(saw(c, "streams"), "logStreams.0.logStreamName");
	return stream &&
	       read_aws(c, x, "log", AWS_LOGS_GetLogEvents,
			json_packf(c->arena, "{s:s, s:s, s:b, s:i}", "logGroupName",
				   log_group(c), "logStreamName", stream, "startFromHead",
				   0, "limit", LOG_TAIL_LINES));
}

static void script_failed(struct step_ctx *c, const char *text)
{
	const json_t *lines = json_at(saw(c, "log"), "events");
	struct err *e = step_fail(c, ERR_LIFECYCLE_SCRIPT,
				  "the lifecycle script failed on a node of %s",
				  step_input(c, "group_name"));
	struct buf tail;
	size_t i;
	json_t *line;

	err_because(e, "sagemaker:cluster-event", "", text, NULL);
	if (json_array_size(lines) == 0) {
		err_fix(e,
			"No log of the script exists in %s: the node failed before it could "
			"write one. Check the script's download and the way to S3.",
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
		"The last lines are in the operation's events (lifecycle_log); the whole log "
		"is in %s. Mend the script, then retry.",
		log_group(c));
}

/* --- before any script ----------------------------------------------------------- */

static void node_failed(struct step_ctx *c, const char *text, const char *what,
			const char *fix)
{
	struct err *e = step_fail(c, ERR_NODE_FAILED,
				  "%s on a node of %s; there is no log, since it failed "
				  "before its scripts",
				  what, step_input(c, "group_name"));

	err_because(e, "sagemaker:cluster-event", "", text, NULL);
	err_fix(e, "%s", fix);
}

bool node_trouble_fail(struct step_ctx *c, const char *text)
{
	const char *group = step_get(c, "security_group_id");

	switch (trouble_of(text)) {
	case SCRIPT_TROUBLE:
		script_failed(c, text);
		return true;
	case EFA_TROUBLE:
		node_failed(c, text, "EFA's health check failed",
			    arena_printf(c->arena,
					 "The security group %s must allow all protocols "
					 "from and to itself, as rules of their own "
					 "(ingress and egress). Mend it, then retry.",
					 group ? group : "of the nodes"));
		return true;
	case NETWORK_TROUBLE:
		node_failed(
			c, text, "the network is not as it must be",
			"The subnet needs a route to NAT or an S3 endpoint, the VPC DNS "
			"support. Mend it, then retry.");
		return true;
	case NO_TROUBLE:
		break;
	}
	return false;
}
