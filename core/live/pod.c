#include "core/live/pod.h"

#include "core/base/str.h"
#include "core/json/tree.h"

static const json_t *status_of(const json_t *pod, const char *container)
{
	static const char *const lists[] = {"status.containerStatuses",
					    "status.initContainerStatuses",
					    "status.ephemeralContainerStatuses"};
	const json_t *found = NULL;

	for (size_t i = 0; i < 3 && !found; i++)
		found = json_find(json_at(pod, lists[i]), "name", container);
	return found;
}

static bool has_container(const json_t *pod, const char *container)
{
	static const char *const lists[] = {"spec.containers", "spec.initContainers",
					    "spec.ephemeralContainers"};

	for (size_t i = 0; i < 3; i++)
		if (json_find(json_at(pod, lists[i]), "name", container))
			return true;
	return false;
}

static void take_end(const json_t *terminated, struct pod_view *ret)
{
	ret->exit_known = json_at(terminated, "exitCode") != NULL;
	ret->exit_code = json_int_or(terminated, "exitCode", 0);
	str_copy(ret->reason, sizeof(ret->reason), json_str_or(terminated, "reason", ""));
}

/* A terminated container runs again unless its pod's policy says otherwise. */
static bool stays_down(const json_t *pod, const struct pod_view *v)
{
	const char *policy = json_str_or(pod, "spec.restartPolicy", "Always");

	return streq(policy, "Never") ||
	       (streq(policy, "OnFailure") && v->exit_known && v->exit_code == 0);
}

bool pod_look(const json_t *pod, const char *container, struct pod_view *ret)
{
	const json_t *s = status_of(pod, container);
	const json_t *terminated = json_at(s, "state.terminated");
	const char *phase = json_str_or(pod, "status.phase", "");

	*ret = (struct pod_view){.restarts = json_int_or(s, "restartCount", 0)};
	str_copy(ret->uid, sizeof(ret->uid), json_str_or(pod, "metadata.uid", ""));
	ret->over = streq(phase, "Succeeded") || streq(phase, "Failed");
	ret->returns = json_find(json_at(pod, "metadata.ownerReferences"), "kind",
				 "StatefulSet") != NULL;
	if (terminated) {
		ret->state = POD_TERMINATED;
		take_end(terminated, ret);
		ret->over = ret->over || stays_down(pod, ret);
	} else if (json_at(s, "state.running")) {
		ret->state = POD_RUNNING;
	} else if (json_at(s, "lastState.terminated")) {
		/* Between two runs: its log is that of the last one. */
		ret->state = POD_TERMINATED;
		take_end(json_at(s, "lastState.terminated"), ret);
		str_copy(ret->reason, sizeof(ret->reason),
			 json_str_or(s, "state.waiting.reason", ret->reason));
	} else {
		str_copy(ret->reason, sizeof(ret->reason),
			 json_str_or(s, "state.waiting.reason",
				     json_str_or(pod, "status.reason", "Pending")));
	}
	return has_container(pod, container);
}
