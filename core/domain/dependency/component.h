/*
 * component.h - what a HyperPod cluster needs inside its EKS cluster.
 *
 * One row a component; the order is the order of installation. Each is a phase
 * of its own in reconcile_dependencies: its failure is recorded and hides
 * neither the others nor itself.
 */
#ifndef INSTANTSTART_DOMAIN_DEPENDENCY_COMPONENT_H
#define INSTANTSTART_DOMAIN_DEPENDENCY_COMPONENT_H

#include "core/domain/step/role.h"
#include "core/op/kind.h"

enum component_via { COMPONENT_ADDON, COMPONENT_CHART };

struct component {
	const char *name; /* also the phase and the prefix of its rows */
	const char *title;
	enum component_via via;
	const char *addon;           /* EKS add-on name */
	const char *release;         /* Helm release */
	const char *ns;              /* of the release or the service account */
	const char *service_account; /* with `role`: a pod identity is associated */
	const struct role_spec *role;
	const char *needs; /* another component's name, or NULL */
	/* Of a chart: its images are made for arm64, too, or it places nothing on such
	 * nodes. Of an add-on EKS says so. */
	bool arm64;
	/* An object in Kubernetes that shows that it is there, if not by us. */
	struct kube_request sign;
	/* Of a chart: objects of any release of it, whoever has named that; those whose
	 * names begin so. */
	struct kube_request mark;
	const char *mark_name;
	/* Of a feature: listed there, not among the dependencies; never taken over
	 * from somebody else unless input.adopt says so. */
	bool is_feature;
	/*
	 * What its webhooks refuse (failurePolicy Fail) while none of its pods runs,
	 * beyond the kinds that it brings itself: "services". Such a component is
	 * installed only when a node can take its pods. NULL: nothing.
	 */
	const char *intercepts;
	/*
	 * The component whose webhook (failurePolicy Fail) judges what this one brings:
	 * it is made when that answers, which takes a node. NULL: nobody does.
	 */
	const char *guarded_by;
	/* Further reads that the values need, once the release's records are read. */
	bool (*look)(struct step_ctx *c, struct exchange *x);
	/* What a plan warns of; NULL or a function that answers NULL: nothing. */
	const char *(*lacks)(const struct step_ctx *c);
	/* Values of the chart or of the add-on's configuration; NULL: none. */
	json_t *(*values)(struct step_ctx *c);
};

/* In the order of installation; NULL-ended. */
const struct component *const *component_list(void);
extern const struct component component_pod_identity, component_coredns,
	component_cert_manager, component_s3_csi, component_fsx_csi,
	component_load_balancers, component_kuberay, component_hyperpod;
/* Not in that list: features, and what only features need. */
extern const struct component component_metrics, component_training, component_inference;

/* Those, too. */
const struct component *component_find(const char *name);
/* The chart pinned for the component: {chart, version, digest}; NULL: none. */
const json_t *component_chart(const struct where *w, const struct component *k);

/* values.c: what our charts are told. */
json_t *hyperpod_values(struct step_ctx *c);
json_t *load_balancer_values(struct step_ctx *c);
bool hyperpod_look(struct step_ctx *c, struct exchange *x);
/* EKS's own registry of images in the region; NULL: it is not known. */
const char *eks_registry(const struct step_ctx *c);
/* Images that a node of this partition or region cannot get unless a mirror has
 * them, as a sentence for plans; NULL: none. */
const char *hyperpod_images_missing(const struct step_ctx *c);

/* load_balancers.c: statements of the controller's policy; new. */
json_t *load_balancer_statements(struct step_ctx *c);
/* Policies that the roles of CSI drivers and controllers need. */
extern const struct role_spec role_s3_csi, role_fsx_csi, role_load_balancers,
	role_training, role_inference, role_inference_scale, role_inference_load,
	role_gated_models;

#endif
