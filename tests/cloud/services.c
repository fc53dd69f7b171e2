#include "tests/cloud/core.h"

const struct cloud_service *const cloud_services[] = {
	&cloud_sts,
	&cloud_iam,
	&cloud_ec2,
	&cloud_s3,
	&cloud_service_quotas,
	&cloud_logs,
#if !defined(CLOUD_CORE_ONLY) && __has_include("tests/cloud/eks/eks.c")
	&cloud_eks,
#endif
#if !defined(CLOUD_CORE_ONLY) && __has_include("tests/cloud/sagemaker/sagemaker.c")
	&cloud_sagemaker,
#endif
#if !defined(CLOUD_CORE_ONLY) &&                                                         \
	__has_include("tests/cloud/cloudformation/cloudformation.c")
	/* Stacks see what their resources have become in the same moment. */
	&cloud_cloudformation,
#endif
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

#if defined(CLOUD_CORE_ONLY) || !__has_include("tests/cloud/kube/kube.c")
void cloud_kube_advance(struct cloud *c, int64_t now_ms)
{
	(void)c;
	(void)now_ms;
}

void cloud_kube_handle(struct cloud *c, struct arena *a, const struct cloud_request *req,
		       struct cloud_response *ret)
{
	(void)c;
	(void)a;
	(void)req;
	ret->status = 404;
}
#endif
