/*
 * check_type.c - what the instance type can do, before anything is made.
 *
 * On HyperPod nodes the VPC CNI uses one interface: its addresses but the
 * node's own are the pods that fit (14 on an ml.g5.xlarge). The components that
 * we install need some of them on every node and some once; what is left is
 * the user's. https://github.com/awslabs/ai-on-sagemaker-hyperpod/issues/142
 */
#include "core/domain/hyperpod/check_share.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/offer/wish.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

bool type_observe(struct step_ctx *c, struct exchange *x)
{
	return instance_type_read(c, x);
}

/* Case NW-03. */
static bool check_interfaces(struct step_ctx *c, const json_t *type)
{
	const char *mode = wish_str(c, "interface_mode");
	const char *ec2_name = json_str_at(type, "InstanceType");
	const char *name =
		ec2_name ? arena_printf(c->arena, "ml.%s", ec2_name) : wish_types_text(c);
	struct err *e;

	if (!mode || json_int_or(type, "NetworkInfo.EfaInfo.MaximumEfaInterfaces", 0) > 0)
		return true;
	e = step_fail(c, ERR_NOT_OFFERED, "%s supports no EFA interfaces", name);
	err_field(
		e, "/interface_mode", mode,
		"no interface mode, or a type with efa_interfaces in list_instance_types");
	return false;
}

void type_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *types = json_at(saw(c, "type"), "InstanceTypes");
	size_t i;
	json_t *type;

	(void)x;
	json_array_foreach(types, i, type)
		if (!check_interfaces(c, type))
			return;
	if (json_array_size(types) < json_array_size(wish_types(c)))
		step_not_known(c, "type",
			       "the capabilities of %s: EC2 does not list %s, so pods, "
			       "addresses and EFA interfaces were not checked",
			       wish_types_text(c), json_array_size(types) ? "all" : "it");
	share_judge(c, types);
}
