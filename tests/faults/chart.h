/*
 * chart.h - a stand-in for Helm, in process.
 *
 * Asks the API server what the real one asks, in its order, by the runner's own
 * transport: the release's Secret as pending, the objects, the Secret as
 * deployed. Whoever dies in between leaves what a killed Helm leaves. It knows
 * the charts that chart_pins() names.
 *
 * https://helm.sh/docs/topics/advanced/#storage-backends
 */
#ifndef INSTANTSTART_TESTS_FAULTS_CHART_H
#define INSTANTSTART_TESTS_FAULTS_CHART_H

#include <jansson.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/kube/helm.h"

void chart_run(struct kube *k, struct clock *clock, const struct kube_target *t,
	       const struct helm_request *r, struct arena *a, struct helm_result *ret);
/* As charts.json has it. Owned by the arena. */
json_t *chart_pins(struct arena *a);

#endif
