#include "core/domain/karpenter/live.h"

#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

const struct field live_list_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct live_list_in, cluster),
	PAGE_WHOLE_FIELDS(struct live_list_in), FIELD_END};

const struct field live_condition_out[] = {
	OUT("type", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Type of the condition."),
	OUT("status", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "True, False or Unknown."),
	OUT("reason", FIELD_STR, .doc = "Reason code."),
	OUT("message", FIELD_STR, .doc = "Message."), FIELD_END};

bool live_list(struct call *c, const struct kube_target *t, const char *api,
	       const char *plural, json_t **ret_items, bool *ret_served, struct err *e)
{
	const struct kube_request r = {.verb = KUBE_LIST, .api = api, .plural = plural};
	struct kube_result res;

	kube_list_all(c->cloud->kube, t, &r, c->arena, &res);
	*ret_served = res.ok;
	if (!res.ok && res.status != 404)
		return kube_err(&r, &res, e);
	*ret_items = res.ok ? json_at(res.out, "items") : json_new_list(c->arena);
	return *ret_items != NULL;
}
