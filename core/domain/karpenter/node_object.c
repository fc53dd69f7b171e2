#include "core/domain/karpenter/node_object.h"

#include "core/base/nearest.h"
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/karpenter/node_class.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/held.h"
#include "core/domain/step/kube_delete.h"
#include "core/domain/step/leaves.h"
#include "core/domain/step/names.h"
#include "core/domain/step/object.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

enum { LOOK_S = 3, GONE_S = 5 };

static const struct node_object *about(const struct step_ctx *c)
{
	return c->step->arg;
}

static const char *name_of(const struct step_ctx *c)
{
	return step_input(c, "name");
}

bool node_object_list(struct step_ctx *c, struct exchange *x, const char *api,
		      const char *plural)
{
	return read_kube(
		c, x, plural,
		&(struct kube_request){.verb = KUBE_LIST, .api = api, .plural = plural});
}

json_t *node_object_items(const struct step_ctx *c, const char *plural)
{
	return json_at(saw(c, plural), "items");
}

static struct kube_request request_of(const struct step_ctx *c, enum kube_verb verb)
{
	return (struct kube_request){.verb = verb,
				     .api = about(c)->api,
				     .plural = about(c)->plural,
				     .name = name_of(c)};
}

bool node_object_get_observe(struct step_ctx *c, struct exchange *x)
{
	const struct kube_request r = request_of(c, KUBE_GET);

	return read_kube(c, x, "object", &r);
}

/* --- what is at stake -------------------------------------------------------------- */

void node_object_add_node(json_t *things, const json_t *node)
{
	const json_t *labels = json_at(node, "metadata.labels");
	const char *name = json_str_or(node, "metadata.name", "?");

	json_push(things, json_pack("{s:s, s:s, s:s, s:s*}", "type", "node", "name", name,
				    "kube", name, "group",
				    json_string_value(
					    json_object_get(labels, NODE_GROUP_LABEL))));
}

bool node_object_read_of_pool(struct step_ctx *c, struct exchange *x)
{
	return read_kube(c, x, "nodes",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "v1",
						.plural = "nodes",
						.label_selector =
							arena_printf(c->arena, "%s=%s",
								     KARPENTER_POOL_LABEL,
								     name_of(c))});
}

/* --- making it ---------------------------------------------------------------------- */

static json_t *wanted(struct step_ctx *c)
{
	json_t *o = about(c)->wanted(c);

	owner_label(c, o);
	return o;
}

static void refuse_foreign(struct step_ctx *c, const json_t *there)
{
	struct err *e =
		step_fail(c, ERR_FOREIGN_OBJECT,
			  "A %s named %s exists and does not belong to InstantStart",
			  about(c)->what, name_of(c));

	object_tell_owner(c, e, there, about(c)->type);
	err_field(e, "/name", name_of(c), "a name that is not in use");
	err_fix(e,
		"Choose another name. To hand it over to this installation, label it " LABEL_MANAGED
		"=instantstart and " LABEL_INSTALLATION "=%s.",
		c->where->installation);
}

void node_object_apply_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *there = saw(c, "object");
	struct kube_request r = request_of(c, KUBE_APPLY);
	struct kube_target t;

	if (there && !object_is_ours(c, there, about(c)->type)) {
		refuse_foreign(c, there);
		return;
	}
	if (json_at(there, "metadata.deletionTimestamp")) {
		step_wait(c, GONE_S, "the earlier %s %s to be deleted%s", about(c)->what,
			  name_of(c), held_text(c->arena, there));
		return;
	}
	step_own(c, about(c)->type, name_of(c), NULL, "made");
	r.body = wanted(c);
	if (there && object_is_current(c, there, r.body))
		return;
	if (!json_at(c->data, "was_there"))
		step_save(c, "was_there", json_boolean(there));
	eks_target(c, &t);
	exchange_kube(x, &t, &r);
	x->what = arena_printf(c->arena, "%s the %s %s", there ? "Change" : "Create",
			       about(c)->what, name_of(c));
}

void node_object_apply_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok)
		step_fail_answer(c, a, "Kubernetes rejected the %s %s: %s",
				 about(c)->what, name_of(c), a->message);
	else
		step_advance(c);
}

void node_object_ready_plan(struct step_ctx *c, struct exchange *x)
{
	const char *why, *state = node_object_state(saw(c, "object"), &why);

	(void)x;
	if (!c->planning && !streq(state, "ready"))
		step_wait(c, LOOK_S, "the %s %s to be ready%s%s", about(c)->what,
			  name_of(c), why ? ": " : "", why ? why : "");
}

static bool tell(struct step_ctx *c, json_t *row)
{
	const bool class = streq(about(c)->plural, KARPENTER_CLASSES);

	json_put_str(row, "object", name_of(c));
	step_stop(row, class ? "delete_node_class" : "delete_node_pool",
		  json_pack("{s:s, s:s}", "cluster", c->target, "name", name_of(c)));
	return true;
}

const struct leaves node_object_leaves = {
	.cost = "The autoscaler launches nodes for pending pods. Each node is billed "
		"from its launch.",
	.tell = tell,
};

static const char *moved(struct step_ctx *c)
{
	const json_t *there = saw(c, "object");

	if (saw_missing(c, "object") || json_at(there, "metadata.deletionTimestamp")) {
		step_gone(c, name_of(c));
		return arena_printf(c->arena,
				    "the %s %s was deleted outside InstantStart",
				    about(c)->what, name_of(c));
	}
	if (there && !object_is_current(c, there, wanted(c)))
		return arena_printf(c->arena,
				    "the %s %s was changed outside InstantStart",
				    about(c)->what, name_of(c));
	return NULL;
}

const struct wait node_object_wait = {
	.rule = "Kubernetes has no time limit for this",
	.moved = moved,
};

bool node_object_undo(struct step_ctx *c, struct spawn *ret, const char *kind)
{
	if (!step_has_sent(c, "apply") || json_bool_or(c->data, "was_there", true))
		return false;
	ret->kind = kind;
	ret->target = c->target;
	ret->input = json_own(c->arena, json_copy((json_t *)(uintptr_t)c->input));
	/* What has come to use it since was never confirmed to be lost. */
	json_object_set(ret->input, "confirmed", json_new_list(c->arena));
	return true;
}

/* --- removing it ---------------------------------------------------------------------
 */

/* What a request asks for is judged; what was accepted, or is an undo, is done. */
static bool is_asked(const struct step_ctx *c)
{
	return c->planning && !json_at(c->input, "confirmed");
}

bool node_object_there_observe(struct step_ctx *c, struct exchange *x)
{
	return is_asked(c) && (node_object_get_observe(c, x) ||
			       (saw_missing(c, "object") &&
				node_object_list(c, x, about(c)->api, about(c)->plural)));
}

void node_object_there_plan(struct step_ctx *c, struct exchange *x)
{
	const char *from = streq(about(c)->plural, KARPENTER_CLASSES)
				   ? "a name from list_node_classes"
				   : "a name from list_node_pools";
	struct nearest near = {.wanted = name_of(c)};
	struct err *e;
	size_t i;
	json_t *v;

	(void)x;
	if (!is_asked(c) || !saw_missing(c, "object"))
		return;
	json_array_foreach(node_object_items(c, about(c)->plural), i, v)
		nearest_offer(&near, json_str_or(v, "metadata.name", ""));
	e = step_fail(c, ERR_NOT_FOUND, "There is no %s named %s in %s", about(c)->what,
		      name_of(c), c->target);
	err_field(e, "/name", name_of(c), nearest_hint(&near, c->arena, from));
}

/* What was asked to go is gone, and somebody has made another of its name meanwhile,
 * with nodes that nobody has confirmed. */
static bool is_another(struct step_ctx *c, const json_t *there)
{
	const char *first = json_str_at(c->data, "deleting");
	const char *uid = json_str_at(there, "metadata.uid");
	struct err *e;

	if (!first || !uid || streq(first, uid)) {
		step_save_str(c, "deleting", uid);
		return false;
	}
	json_drop(c->data, "deleting");
	e = step_fail(c, ERR_GOAL_MOVED,
		      "The %s %s was deleted, and another of the same name was created "
		      "outside InstantStart",
		      about(c)->what, name_of(c));
	err_fix(e, "The new one is kept. Request a new plan if it is no longer needed.");
	return true;
}

void node_object_delete_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *there = saw(c, "object");
	struct err *e;

	if (!there) {
		step_own(c, about(c)->type, name_of(c), NULL, "gone");
		return;
	}
	if (is_another(c, there))
		return;
	if (json_at(there, "metadata.deletionTimestamp")) {
		step_wait(c, GONE_S, "the %s %s and its nodes to be deleted%s",
			  about(c)->what, name_of(c), held_text(c->arena, there));
		return;
	}
	/* The caller names it, whoever made it; but not what others look after. */
	if (owner_of_object(c, there, name_label(c), about(c)->type) ==
	    OWNER_INSTALLATION) {
		e = step_fail(c, ERR_FOREIGN_OBJECT,
			      "The %s %s belongs to another InstantStart installation",
			      about(c)->what, name_of(c));
		object_tell_owner(c, e, there, about(c)->type);
		err_fix(e,
			"Use the installation that created it. To hand the object over "
			"to this one, set its label " LABEL_INSTALLATION " to %s.",
			c->where->installation);
		return;
	}
	kube_delete(c, x, request_of(c, KUBE_DELETE), there, KUBE_SEEN_CONTENT);
	x->what = arena_printf(c->arena, "Delete the %s %s", about(c)->what, name_of(c));
}

void node_object_delete_absorb(struct step_ctx *c, const struct answer *a)
{
	if (kube_delete_was_another(c, a))
		return;
	if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND)
		step_fail_answer(c, a, "the %s %s could not be deleted", about(c)->what,
				 name_of(c));
	else
		step_wait(c, LOOK_S, "the %s %s and its nodes to be deleted",
			  about(c)->what, name_of(c));
}

void node_object_finish_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	step_done(c, json_pack("{s:s, s:s}", "name", name_of(c), "kind", about(c)->what));
}
