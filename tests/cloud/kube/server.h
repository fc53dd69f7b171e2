/*
 * server.h - the parts of a simulated Kubernetes API server.
 *
 *   store.h    objects, their versions and history, kinds
 *   request.h  one request, its answer, reads
 *   merge.h    patches, server-side apply
 *   check.h    validation, admission, writes
 *   control.h  controllers
 */
#ifndef INSTANTSTART_TESTS_CLOUD_KUBE_SERVER_H
#define INSTANTSTART_TESTS_CLOUD_KUBE_SERVER_H

#include "tests/cloud/kube/check.h"
#include "tests/cloud/kube/control.h"
#include "tests/cloud/kube/merge.h"
#include "tests/cloud/kube/request.h"
#include "tests/cloud/kube/store.h"

#endif
