/*
 * node_users.c - what runs on the nodes and what is kept on their disks.
 *
 * A plan lists it as what is at stake. The operation carries the list that was
 * confirmed; pods that have come since were confirmed by nobody.
 */
#include <string.h>

#include "core/domain/node/node_action.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

bool node_users_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *node;
	size_t i;

	json_array_foreach(node_list(c), i, node) {
		const char *id = json_str_or(node, "id", "");
		const char *name = node_kube_name(c->arena, id);

		if (!node_is(node, "") || !name)
			continue;
		if (node_read_kube(c, x, i, id) ||
		    read_kube(c, x, arena_printf(c->arena, "p%zu", i),
			      &(struct kube_request){
				      .verb = KUBE_LIST,
				      .api = "v1",
				      .plural = "pods",
				      .field_selector = arena_printf(
					      c->arena, "spec.nodeName=%s", name)}))
			return true;
	}
	return false;
}

bool pod_counts(const json_t *pod)
{
	const char *phase = json_str_or(pod, "status.phase", "");

	return !streq(phase, "Succeeded") && !streq(phase, "Failed") &&
	       !json_find(json_at(pod, "metadata.ownerReferences"), "kind",
			  "DaemonSet") &&
	       !json_object_get(json_at(pod, "metadata.annotations"),
				"kubernetes.io/config.mirror");
}

void pod_local_volumes(const json_t *pod, json_t *list)
{
	const char *name = json_str_or(pod, "metadata.name", "?");
	size_t i;
	json_t *v;

	json_array_foreach(json_at(pod, "spec.volumes"), i, v) {
		const char *path = json_str_at(v, "hostPath.path");

		if (path)
			json_push(list, json_sprintf("%s: hostPath %s (%s)", name, path,
						     json_str_or(v, "name", "?")));
		else if (json_at(v, "emptyDir") &&
			 !streq(json_str_at(v, "emptyDir.medium"), "Memory"))
			json_push(list, json_sprintf("%s: emptyDir %s", name,
						     json_str_or(v, "name", "?")));
	}
}

/* Lists are sorted by name as Kubernetes gives them: equal is equal. */
static json_t *stake_of(struct step_ctx *c, size_t i, const json_t *node)
{
	const json_t *list = saw(c, arena_printf(c->arena, "p%zu", i));
	json_t *pods = json_array(), *volumes = json_array(), *pod;
	size_t k;

	json_array_foreach(json_at(list, "items"), k, pod) {
		if (!pod_counts(pod))
			continue;
		json_push(pods, json_sprintf("%s/%s",
					     json_str_or(pod, "metadata.namespace", "?"),
					     json_str_or(pod, "metadata.name", "?")));
		pod_local_volumes(pod, volumes);
	}
	return json_pack("{s:s, s:s, s:o, s:o}", "node",
			 json_str_or(node, "id", json_str_or(node, "logical_id", "?")),
			 "group", json_str_or(node, "group", ""), "pods", pods,
			 "local_volumes", volumes);
}

/* The first pod that the confirmed list does not have; NULL: none. */
static const char *unconfirmed(const struct step_ctx *c, const json_t *stake)
{
	const json_t *list = json_at(c->input, "confirmed");
	const json_t *row = json_find(list, "node", json_str_or(stake, "node", ""));
	size_t i;
	json_t *v;

	if (!list)
		return NULL;
	json_array_foreach(json_at(stake, "pods"), i, v)
		if (!texts_have(json_at(row, "pods"), json_string_value(v)))
			return json_string_value(v);
	return NULL;
}

static void warn(struct step_ctx *c, const json_t *stake)
{
	const struct node_action *action = c->step->arg;
	const size_t pods = json_len_at(stake, "pods");
	const size_t volumes = json_len_at(stake, "local_volumes");
	const char *node = json_str_or(stake, "node", "?");

	if (pods)
		step_warn(c, "%zu pods run on %s and are ended: %s%s", pods, node,
			  json_str_or(stake, "pods.0", ""), pods > 1 ? " …" : "");
	if (volumes && action->goal != NODE_REBOOT)
		step_warn(c, "what is kept on the disks of %s is lost: %s%s", node,
			  json_str_or(stake, "local_volumes.0", ""),
			  volumes > 1 ? " …" : "");
}

/* The boot after the action before this retry is the one that was asked for. */
static void note_boot(struct step_ctx *c, json_t *node, size_t i)
{
	json_put_str(node, "boot_id",
		     json_str_at(node_saw_kube(c, i), "status.nodeInfo.bootID"));
}

void node_users_plan(struct step_ctx *c, struct exchange *x)
{
	const struct node_action *action = c->step->arg;
	json_t *list = json_own(c->arena, json_deep_copy(node_list(c))), *node;
	size_t i;

	(void)x;
	json_array_foreach(list, i, node) {
		json_t *stake;
		const char *pod;

		if (!node_is(node, ""))
			continue;
		stake = json_own(c->arena, stake_of(c, i, node));
		pod = unconfirmed(c, stake);
		if (pod) {
			struct err *e = step_fail(
				c, ERR_LOSS_NOT_CONFIRMED,
				"the pod %s has come to %s since this was confirmed", pod,
				json_str_or(stake, "node", "?"));
			err_fix(e, "Ask for the %s anew, and confirm what it plans.",
				action->verb);
			return;
		}
		warn(c, stake);
		step_stake(c, json_incref(stake));
		note_boot(c, node, i);
	}
	step_save(c, "nodes", json_incref(list));
	step_advance(c);
}
