/*
 * logs.h - CloudWatch Logs, for the services that write there.
 *
 * HyperPod writes lifecycle logs to
 * /aws/sagemaker/Clusters/<name>/<id>, stream LifecycleConfig/<group>/<instance>.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_LOGS_H
#define INSTANTSTART_TESTS_CLOUD_LOGS_H

#include "tests/cloud/cloud.h"

/* Makes group and stream when they are missing. */
void logs_put(struct cloud *c, const char *group, const char *stream, int64_t at_ms,
	      const char *message);

#endif
