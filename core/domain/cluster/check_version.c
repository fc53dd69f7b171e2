#include "core/domain/cluster/check_version.h"

#include "core/domain/cluster/cluster_check.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

bool check_version_observe(struct step_ctx *c, struct exchange *x)
{
	return read_all(c, x, "versions", AWS_EKS_DescribeClusterVersions, NULL);
}

void check_version_plan(struct step_ctx *c, struct exchange *x)
{
	const char *wanted = step_input(c, "kubernetes_version");
	const json_t *list = json_at(saw(c, "versions"), "clusterVersions");
	const char *newest = c->cfg->kubernetes_newest;
	struct buf known;
	size_t i;
	json_t *v;

	(void)x;
	if (!wanted)
		return;
	buf_init(&known, c->arena, 300);
	json_array_foreach(list, i, v)
		buf_printf(&known, "%s%s", i ? ", " : "",
			   json_str_or(v, "clusterVersion", "?"));
	/* Without the right to ask: EKS judges. */
	if (known.len && !json_find(list, "clusterVersion", wanted)) {
		struct err *e = step_fail(c, ERR_INVALID_INPUT,
					  "EKS has no Kubernetes version %s", wanted);
		err_field(e, "/kubernetes_version", wanted,
			  arena_printf(c->arena, "one of %s", buf_cstr(&known)));
		return;
	}
	if (kubernetes_minor(wanted) > kubernetes_minor(newest))
		step_warn(
			c,
			"HyperPod is known to take Kubernetes up to %s: %s may be refused "
			"when the nodes are asked for",
			newest, wanted);
}
