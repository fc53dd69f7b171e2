/* The HyperPod cluster, which goes with a deletion and with the undo of its creation. */
#include "core/domain/cluster/teardown.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/step/absent.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

/*
 * Of that name, but without our tag. What we never made stays, and is no reason
 * to stop; what we did make has lost its tag, and only a person knows why.
 */
void teardown_leave_foreign(struct step_ctx *c, const char *type, const char *name,
			    const json_t *tags)
{
	struct err *e;

	if (!removal_owned(c, type)) {
		step_event(c, "left_alone",
			   json_pack("{s:s, s:s}", "type", type, "name", name));
		return;
	}
	e = owner_of_tags(c, tags) == OWNER_NOBODY
		    ? step_fail(c, ERR_FOREIGN_OBJECT,
				"%s has lost the tag that says it is ours", name)
		    : step_fail(c, ERR_FOREIGN_OBJECT,
				"%s exists and does not belong to this cluster", name);
	owner_tell(c, e, tags);
	err_fix(e, "It is kept. To remove it, delete it yourself, then retry.");
}

/* Half of it goes with this call: nobody shall take what is left for a cluster. */
void teardown_going(struct step_ctx *c, const char *what, const char *name)
{
	step_catalog(c, "cluster", c->target, NULL,
		     json_pack("{s:s}", "status", "deleting"));
	step_wait(c, 20, "%s %s to be deleted", what, name);
}

bool teardown_hyperpod_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x) || hyperpod_read_tags(c, x);
}

void teardown_hyperpod_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *cluster = saw(c, "hyperpod");
	const char *status = json_str_or(cluster, "ClusterStatus", "");

	if (!cluster) {
		if (!is_absent_twice(c, "sagemaker:cluster", hyperpod_name(c),
				     TEARDOWN_SPACING_S, "the HyperPod cluster"))
			return;
		step_own(c, "sagemaker:cluster", hyperpod_name(c), NULL, "gone");
		return;
	}
	is_there(c, "sagemaker:cluster");
	if (hyperpod_is_vanishing(c))
		return;
	if (!step_tagged_cluster(c, json_at(saw(c, "tags"), "Tags"))) {
		teardown_leave_foreign(c, "sagemaker:cluster", hyperpod_name(c),
				       json_at(saw(c, "tags"), "Tags"));
		return;
	}
	if (streq(status, "Deleting")) {
		step_wait(c, 30, "the HyperPod cluster %s to be deleted",
			  hyperpod_name(c));
		return;
	}
	exchange_aws(x, AWS_SAGEMAKER_DeleteCluster,
		     json_packf(c->arena, "{s:s}", "ClusterName", hyperpod_name(c)));
	x->what = arena_printf(c->arena, "Delete the HyperPod cluster %s",
			       hyperpod_name(c));
}

void teardown_hyperpod_absorb(struct step_ctx *c, const struct answer *a)
{
	if (answer_is(a, "ConflictException"))
		step_wait(c, 30, "the HyperPod cluster %s to settle: %s",
			  hyperpod_name(c), a->message);
	else if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND)
		step_fail_answer(c, a, "the HyperPod cluster %s could not be deleted",
				 hyperpod_name(c));
	else
		teardown_going(c, "the HyperPod cluster", hyperpod_name(c));
}
