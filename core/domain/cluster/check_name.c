#include "core/domain/cluster/check_name.h"

#include "core/domain/cluster/stack.h"
#include "core/domain/step/names.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

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
		"A stack named %s exists (%s) and was not created by this operation",
		name_stack(c), stack_status(c));
	owner_tell(c, e, json_at(stack_seen(c), "Tags"));

	err_field(e, "/name", c->target, "a name that is not in use");
	if (saw_ok(c, "eks"))
		err_fix(e,
			"The EKS cluster %s belongs to this stack. Use import_cluster to "
			"work with it, or choose another name.",
			c->target);
	else
		err_fix(e, "Choose another name. The stack is not changed.");
}

static void refuse_cluster(struct step_ctx *c)
{
	struct err *e = step_fail(c, ERR_FOREIGN_OBJECT,
				  "An EKS cluster named %s exists and does not belong to "
				  "InstantStart",
				  c->target);
	owner_tell(c, e, json_at(saw(c, "eks"), "cluster.tags"));

	err_field(e, "/name", c->target, "a name that is not in use");
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
			"could not check whether an EKS cluster named %s exists: %s",
			c->target, saw_why(c, "eks"));
	else if (stack && !stack_missing(c) && !ours)
		refuse_stack(c);
	else if (saw_ok(c, "eks") && !ours)
		refuse_cluster(c);
}
