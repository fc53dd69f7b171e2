#include "core/domain/karpenter/prerequisites.h"

#include <string.h>

#include "core/domain/step/version.h"
#include "core/json/tree.h"

const char *prerequisites_agent(struct arena *a, const json_t *agents)
{
	size_t i;
	json_t *v;

	json_array_foreach(agents, i, v) {
		const char *image =
			json_str_or(v, "spec.template.spec.containers.0.image", "");
		const char *tag = strrchr(image, ':');

		if (!str_starts(json_str_or(v, "metadata.name", ""),
				"health-monitoring-agent"))
			continue;
		/* "latest" and digests are no versions: not judged. */
		return tag && tag[1] >= '0' && tag[1] <= '9' && strchr(tag, '.')
			       ? arena_strdup(a, tag + 1)
			       : "";
	}
	return NULL;
}

static void check_agent(const json_t *agents, struct findings *f)
{
	const char *version = prerequisites_agent(f->arena, agents);

	if (!version)
		finding_add(f, "/dependencies",
			    "no health-monitoring agent runs in aws-hyperpod", "",
			    "the HyperPod Helm chart: run reconcile_dependencies");
	else if (*version && version_compare(version, KARPENTER_AGENT_OLDEST) < 0)
		finding_add(f, "/dependencies",
			    arena_printf(f->arena,
					 "the health-monitoring agent is %s, older than "
					 "%s",
					 version, KARPENTER_AGENT_OLDEST),
			    version,
			    "a newer HyperPod Helm chart: run "
			    "reconcile_dependencies");
}

void prerequisites_check(const json_t *cluster, const json_t *agents, struct findings *f)
{
	const char *mode = json_str_or(cluster, "NodeProvisioningMode", "not set");

	if (!streq(mode, "Continuous"))
		finding_add(
			f, "/cluster",
			arena_printf(f->arena,
				     "NodeProvisioningMode is %s, and cannot be changed "
				     "after creation",
				     mode),
			mode, "a cluster created with Continuous");
	check_agent(agents, f);
}
