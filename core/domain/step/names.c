#include "core/domain/step/names.h"

#include <string.h>

#include "core/domain/step/texts.h"
#include "core/json/tree.h"

static const char *const purposes[] = {
	[ROLE_NODES] = "nodes",
	[ROLE_S3_CSI] = "s3-csi",
	[ROLE_FSX_CSI] = "fsx-csi",
	[ROLE_LOAD_BALANCERS] = "load-balancers",
	[ROLE_AUTOSCALING] = "autoscaling",
	[ROLE_TRAINING_OPERATOR] = "training",
	[ROLE_INFERENCE] = "inference",
	[ROLE_INFERENCE_SCALE] = "inference-keda",
	[ROLE_INFERENCE_LOAD] = "inference-alb",
	[ROLE_GATED_MODELS] = "gated-models",
};

enum { ROLE_NAME_MAX = 64, DIGEST_LEN = 8 };

/* Names that would be too long end in a digest of what they had to leave out. */
static const char *digest_of(const struct step_ctx *c)
{
	return arena_printf(
		c->arena, "%.*s", DIGEST_LEN,
		json_digest(c->arena, json_packf(c->arena, "{s:s, s:s}", "cluster",
						 c->target, "region", c->where->region)));
}

const char *name_stack(const struct step_ctx *c)
{
	const struct name_part parts[] = {NAME_FIXED("instantstart"),
					  NAME_FREE(c->target)};

	return name_join(c->arena, &name_rule_stack, parts, 2);
}

/* Made by a rule that kept capitals: its record says so. */
static const char *recorded_role(const struct step_ctx *c, const char *plain)
{
	return texts_have(json_at(c->input, "roles"), plain) ? plain : NULL;
}

/* To IAM a name in capitals is the same name: only the digest tells them apart. */
static bool has_capital(const char *text)
{
	return strpbrk(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != NULL;
}

/*
 * The add-on's managed policy passes roles by this prefix alone.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-model-deployment-setup.html
 */
static const char *inference_role(const struct step_ctx *c)
{
	const char *name = arena_printf(c->arena, "SageMakerHyperPodInference-is-%s-%s",
					c->target, c->where->region);

	if (strlen(name) <= ROLE_NAME_MAX &&
	    (!has_capital(c->target) || recorded_role(c, name)))
		return name;
	return arena_printf(c->arena, "%.*s-%s", ROLE_NAME_MAX - DIGEST_LEN - 1, name,
			    digest_of(c));
}

/* The region is part of the name: roles are global in an account. */
const char *name_role(const struct step_ctx *c, enum role_purpose p)
{
	const struct name_part parts[] = {NAME_FIXED("is"), NAME_FREE(c->target),
					  NAME_FIXED(purposes[p]),
					  NAME_FIXED(c->where->region)};
	const char *plain = arena_printf(c->arena, "is-%s-%s-%s", c->target, purposes[p],
					 c->where->region);

	if (p == ROLE_INFERENCE)
		return inference_role(c);
	return recorded_role(c, plain) ? plain
				       : name_join(c->arena, &name_rule_role, parts, 4);
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

const char *name_tls_bucket(const struct step_ctx *c)
{
	return arena_printf(c->arena, "hyperpod-tls-%s-%s-%s", c->where->account,
			    c->where->region, digest_of(c));
}

const char *name_hyperpod(const struct step_ctx *c)
{
	const struct name_part parts[] = {NAME_FREE(c->target)};

	return name_join(c->arena, &name_rule_hyperpod, parts, 1);
}

const char *name_label(const struct step_ctx *c)
{
	const struct name_part parts[] = {NAME_FREE(c->target)};

	return name_join(c->arena, &name_rule_label_value, parts, 1);
}

const char *name_lifecycle_prefix(const struct step_ctx *c)
{
	return arena_printf(c->arena, "clusters/%s/lifecycle", c->target);
}
