/*
 * pod.h - what a Pod object says about one of its containers. Pure.
 *
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
 */
#ifndef INSTANTSTART_LIVE_POD_H
#define INSTANTSTART_LIVE_POD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum pod_state { POD_WAITING, POD_RUNNING, POD_TERMINATED };

enum { POD_UID_MAX = 64, POD_REASON_MAX = 160 };

struct pod_view {
	char uid[POD_UID_MAX];
	int64_t restarts;
	enum pod_state state;
	bool over;       /* no container of this kind will run again in this pod */
	bool returns;    /* a pod of the same name takes its place (StatefulSet) */
	bool exit_known; /* exit_code is that of the last end */
	int64_t exit_code;
	char reason[POD_REASON_MAX]; /* of waiting or of the end; "" when none */
};

/* false: the pod has no such container. */
bool pod_look(const json_t *pod, const char *container, struct pod_view *ret)
	__attribute__((warn_unused_result));

#endif
