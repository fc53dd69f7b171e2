/* What a node's first boot leaves in CloudWatch Logs. */
#include <string.h>

#include "tests/cloud/logs.h"
#include "tests/cloud/sagemaker/sagemaker.h"

enum { LINES_MAX = 8 };

/* Why the script did not end well, as the node's shell would say it. */
static const char *last_words(struct sm_work *w, const json_t *group)
{
	const char *text;
	const char *uri = sm_boot_script(w, group, &text);
	const char *name = json_str_or(group, "LifeCycleConfig.OnCreate", "");

	if (!text)
		return arena_printf(
			w->arena,
			"fatal error: An error occurred (403) when calling the "
			"HeadObject operation: Forbidden: %s",
			uri);
	if (strstr(text, "\r\n"))
		return arena_printf(
			w->arena,
			"/tmp/lifecycle/%s: /bin/bash^M: bad interpreter: No such file "
			"or directory",
			name);
	return "mount: /opt/dlami/nvme: can't read superblock on /dev/md0.";
}

void sm_boot_log(struct sm_work *w, const json_t *group, const json_t *node, bool failed)
{
	const char *log_group = arena_printf(w->arena, "/aws/sagemaker/Clusters/%s/%s",
					     w->name, json_str_or(w->cluster, "_id", ""));
	const char *stream = arena_printf(w->arena, "LifecycleConfig/%s/%s",
					  json_str_or(node, "InstanceGroupName", ""),
					  json_str_or(node, "InstanceId", ""));
	const char *text, *lines[LINES_MAX];
	const char *name = json_str_or(group, "LifeCycleConfig.OnCreate", "");
	const char *uri = sm_boot_script(w, group, &text);
	size_t n = 0;

	lines[n++] = arena_printf(w->arena, "Downloading lifecycle scripts from %s", uri);
	if (text)
		lines[n++] =
			arena_printf(w->arena, "Executing lifecycle script %s", name);
	if (failed)
		lines[n++] = last_words(w, group);
	lines[n++] = failed ? "Lifecycle script execution failed with exit code 1"
			    : "Lifecycle script execution completed successfully";
	for (size_t i = 0; i < n; i++)
		logs_put(w->cloud, log_group, stream, w->now_ms - (int64_t)(n - i) * 1000,
			 lines[i]);
}
