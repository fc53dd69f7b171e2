#include "core/domain/step/names.h"

static const char *const purposes[] = {
	[ROLE_NODES] = "nodes",
	[ROLE_S3_CSI] = "s3-csi",
	[ROLE_FSX_CSI] = "fsx-csi",
	[ROLE_LOAD_BALANCERS] = "load-balancers",
};

const char *name_stack(const struct step_ctx *c)
{
	return arena_printf(c->arena, "instantstart-%s", c->target);
}

/* The region is part of the name: roles are global in an account. */
const char *name_role(const struct step_ctx *c, enum role_purpose p)
{
	return arena_printf(c->arena, "is-%s-%s-%s", c->target, purposes[p],
			    c->where->region);
}

const char *name_role_arn(const struct step_ctx *c, enum role_purpose p)
{
	return arena_printf(c->arena, "arn:%s:iam::%s:role/%s", c->where->partition,
			    c->where->account, name_role(c, p));
}

bool name_bucket_is_ours(const struct step_ctx *c)
{
	return !c->cfg->bucket || !c->cfg->bucket[0];
}

/* HyperPod's managed role policy reads buckets whose names begin so. */
const char *name_bucket(const struct step_ctx *c)
{
	if (!name_bucket_is_ours(c))
		return c->cfg->bucket;
	return arena_printf(c->arena, "sagemaker-instantstart-%s-%s", c->where->account,
			    c->where->region);
}

const char *name_lifecycle_prefix(const struct step_ctx *c)
{
	return arena_printf(c->arena, "clusters/%s/lifecycle", c->target);
}
