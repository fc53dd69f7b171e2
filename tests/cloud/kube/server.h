/*
 * server.h - the parts of a simulated Kubernetes API server.
 *
 *   store.h    objects, their versions and history, kinds
 *   request.h  one request, reads
 *   answer.h   its answer, who may ask
 *   merge.h    patches, server-side apply
 *   check.h    validation, admission, writes
 *   control.h  controllers
 *
 * Settings of the cloud that it knows:
 *   kube_tokens        {"token": "principal ARN" or "system:admin"}
 *   kube_logs          {"namespace/pod/container": ["line", …]}
 *   kube_fail          {"namespace/pod or its owner": "message"}: ends so, if ever
 *   kube_pod_start_ms, kube_pod_stop_ms, kube_job_run_ms   of a container
 *   kube_injection_ms  from a ready webhook to one that answers
 *   kube_external      {"cluster": {"endpoint", "ca"}}: a real API server that
 *                      DescribeCluster names; it asks by POST _cloud/review/CLUSTER
 *   kube_history       how many changes a watch can go back
 */
#ifndef INSTANTSTART_TESTS_CLOUD_KUBE_SERVER_H
#define INSTANTSTART_TESTS_CLOUD_KUBE_SERVER_H

#include "tests/cloud/kube/answer.h"
#include "tests/cloud/kube/check.h"
#include "tests/cloud/kube/control.h"
#include "tests/cloud/kube/merge.h"
#include "tests/cloud/kube/request.h"
#include "tests/cloud/kube/store.h"

#endif
