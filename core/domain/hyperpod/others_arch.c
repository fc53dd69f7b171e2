#include "core/domain/hyperpod/others_arch.h"

#include <string.h>

#include "core/base/listing.h"
#include "core/domain/dependency/component.h"
#include "core/domain/dependency/footprint.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

#define ARCH_LABEL "kubernetes.io/arch"

bool others_arch_observe(struct step_ctx *c, struct exchange *x)
{
	return eks_read_kube(c, x, "daemonsets",
			     &(struct kube_request){.verb = KUBE_LIST,
						    .api = "apps/v1",
						    .plural = "daemonsets"});
}

/* --- whose it is ---------------------------------------------------------------------
 */

/* EKS applies what add-ons bring, and Helm marks what our charts bring. */
static bool is_known(const json_t *set)
{
	const char *name = json_str_or(set, "metadata.name", "");
	const char *release = json_string_value(json_object_get(
		json_at(set, "metadata.annotations"), "meta.helm.sh/release-name"));

	if (json_find(json_at(set, "metadata.managedFields"), "manager", "eks"))
		return true;
	for (const struct footprint *f = footprints; f->component; f++)
		if (streq(name, f->object))
			return true;
	for (size_t i = 0; release && component_list()[i]; i++)
		if (streq(component_list()[i]->release, release))
			return true;
	return false;
}

/* --- where it goes -------------------------------------------------------------------
 */

enum placed { ANYWHERE, HERE, NOT_HERE };

/* Of one term of required affinity: all its expressions must hold. */
static enum placed by_term(const json_t *term)
{
	size_t i;
	json_t *e;

	json_array_foreach(json_at(term, "matchExpressions"), i, e) {
		const bool in = streq(json_str_at(e, "operator"), "In");
		const bool out = streq(json_str_at(e, "operator"), "NotIn");
		const bool named = texts_have(json_at(e, "values"), "arm64");

		if (streq(json_str_at(e, "key"), ARCH_LABEL) && (in || out))
			return named == in ? HERE : NOT_HERE;
	}
	return ANYWHERE;
}

static enum placed place_of(const json_t *set)
{
	const json_t *pod = json_at(set, "spec.template.spec");
	const char *arch = json_string_value(
		json_object_get(json_at(pod, "nodeSelector"), ARCH_LABEL));
	const json_t *terms =
		json_at(pod, "affinity.nodeAffinity."
			     "requiredDuringSchedulingIgnoredDuringExecution."
			     "nodeSelectorTerms");
	enum placed best = NOT_HERE;
	size_t i;
	json_t *term;

	if (arch)
		return streq(arch, "arm64") ? HERE : NOT_HERE;
	if (json_array_size(terms) == 0)
		return ANYWHERE;
	/* One term is enough. */
	json_array_foreach(terms, i, term) {
		const enum placed p = by_term(term);

		if (p == ANYWHERE || (p == HERE && best == NOT_HERE))
			best = p;
	}
	return best;
}

/* An image whose name says that it is for the other architecture. */
static const char *other_image(const json_t *set)
{
	size_t i;
	json_t *box;

	json_array_foreach(json_at(set, "spec.template.spec.containers"), i, box) {
		const char *image = json_str_or(box, "image", "");

		if (strstr(image, "amd64") || strstr(image, "x86_64"))
			return image;
	}
	return NULL;
}

void others_arch_judge(struct step_ctx *c, const char *types)
{
	struct listing lack = listing_new(c->arena, ", ", LISTING_LONG);
	struct listing unread = listing_new(c->arena, ", ", LISTING_LONG);
	size_t i;
	json_t *set;

	if (saw_refused(c, "daemonsets"))
		step_not_known(c, "architecture",
			       "which DaemonSets of others come to the new nodes, which "
			       "are arm64 (%s)",
			       saw_why(c, "daemonsets"));
	json_array_foreach(json_at(saw(c, "daemonsets"), "items"), i, set) {
		const enum placed p = place_of(set);

		if (is_known(set) || p == NOT_HERE)
			continue;
		if (other_image(set))
			listing_add(&lack, "%s/%s (%s)",
				    json_str_or(set, "metadata.namespace", "?"),
				    json_str_or(set, "metadata.name", "?"),
				    other_image(set));
		else if (p == ANYWHERE)
			listing_add(&unread, "%s/%s",
				    json_str_or(set, "metadata.namespace", "?"),
				    json_str_or(set, "metadata.name", "?"));
	}
	if (lack.n > 0)
		step_warn(c,
			  "DaemonSets of others run on every node and their images are "
			  "for amd64, while %s has arm64: %s. Their pods fail on such "
			  "nodes. Select nodes by " ARCH_LABEL " or use images for both",
			  types, listing_text(&lack));
	if (unread.n > 0)
		step_not_known(c, "architecture",
			       "whether images of these DaemonSets of others are built "
			       "for arm64, which %s has: %s",
			       types, listing_text(&unread));
}
