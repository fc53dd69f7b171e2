/*
 * leaves.h - what steps of several kinds leave wanted in the cloud, and waits whose
 * rules several kinds share. See struct leaves and struct wait of core/op/kind.h.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_LEAVES_H
#define INSTANTSTART_DOMAIN_STEP_LEAVES_H

#include "core/op/kind.h"

extern const struct leaves leaves_deletion; /* AWS has taken a deletion */
extern const struct leaves leaves_action;   /* a reboot, a replacement, an update */
extern const struct leaves leaves_addon;
extern const struct leaves leaves_chart;

extern const struct wait wait_eks;        /* a control plane that comes or changes */
extern const struct wait wait_kubernetes; /* objects, pods, claims: our patience */
extern const struct wait wait_deletion;   /* until something is gone */
extern const struct wait wait_update;     /* the HyperPod cluster takes a change */
extern const struct wait wait_software;   /* a rolling update of nodes */
extern const struct wait wait_nodes;      /* reboots and replacements */

#endif
