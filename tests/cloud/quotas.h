/*
 * quotas.h - applied quotas, for the services that are bound by them.
 *
 * settings.quota {"L-F678F1CE": 20} wins over the built-in defaults.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_QUOTAS_H
#define INSTANTSTART_TESTS_CLOUD_QUOTAS_H

#include "tests/cloud/cloud.h"

/* The applied value; 0 for a quota that is not known. */
double quota_value(struct cloud *c, const char *service_code, const char *quota_code);
/* "ml.<type> for cluster usage"; the type with or without "ml."; 0: none. */
double quota_cluster_usage(struct cloud *c, const char *instance_type);
/* "ml.<type> for cluster spot instance usage". */
double quota_cluster_spot(struct cloud *c, const char *instance_type);

#endif
