#include "tests/cloud/core.h"

const struct cloud_service *const cloud_services[] = {
	&cloud_sts,
	&cloud_iam,
	&cloud_ec2,
	&cloud_s3,
	&cloud_service_quotas,
	&cloud_logs,
	&cloud_elb,
	&cloud_eks,
	&cloud_sagemaker,
	/* Stacks see what their resources have become in the same moment. */
	&cloud_cloudformation,
	NULL,
};

const struct cloud_service *cloud_service_find(const char *id)
{
	for (size_t i = 0; cloud_services[i]; i++)
		if (streq(cloud_services[i]->id, id))
			return cloud_services[i];
	return NULL;
}

const struct cloud_op *cloud_op_find(const struct cloud_service *s, const char *name)
{
	for (const struct cloud_op *op = s ? s->ops : NULL; op && op->name; op++)
		if (streq(op->name, name))
			return op;
	return NULL;
}
