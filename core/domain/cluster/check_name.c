#include "core/domain/cluster/check_name.h"

#include "core/domain/cluster/stack.h"
#include "core/domain/step/names.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

bool control_plane_name_observe(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "eks", AWS_EKS_DescribeCluster,
			json_packf(c->arena, "{s:s}", "name", c->target)) ||
	       stack_read(c, x);
}

static void refuse_stack(struct step_ctx *c)
{
	struct err *e = step_fail(
		c, ERR_FOREIGN_OBJECT,
		"a stack named %s exists (%s) and was not made by this operation",
		name_stack(c), stack_status(c));

	err_field(e, "/name", c->target, "a name that is not taken");
	if (saw_ok(c, "eks"))
		err_fix(e,
			"The EKS cluster %s stands on it: use import_cluster to work with "
			"it, or choose another name.",
			c->target);
	else
		err_fix(e, "Choose another name; the stack stays as it is.");
}

static void refuse_cluster(struct step_ctx *c)
{
	struct err *e =
		step_fail(c, ERR_FOREIGN_OBJECT,
			  "an EKS cluster named %s exists and is not ours", c->target);

	err_field(e, "/name", c->target, "a name that is not taken");
	err_fix(e, "Use import_cluster to work with it, or choose another name.");
}

void control_plane_name_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *stack = stack_seen(c);
	const bool ours = stack && step_tagged_ours(c, json_at(stack, "Tags"));

	(void)x;
	if (stack_refused(c))
		return;
	if (saw_refused(c, "eks"))
		step_fail_saw(
			c, "eks",
			"whether an EKS cluster named %s exists could not be seen: %s",
			c->target, saw_why(c, "eks"));
	else if (stack && !stack_missing(c) && !ours)
		refuse_stack(c);
	else if (saw_ok(c, "eks") && !ours)
		refuse_cluster(c);
}
