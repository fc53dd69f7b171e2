/*
 * What a change of a group leaves wanted in the cloud, and how it is taken back.
 *
 * A target count, a group, a label are desired state: SageMaker goes on until they
 * are so. Taking back is asking for what was before, by the same kinds.
 */
#include "core/domain/group/group.h"
#include "core/json/tree.h"

#define BILLED "Each node that still launches is billed until it is removed."

static const char before_count[] = "_before_count";

void group_note_count(struct step_ctx *c, int64_t target)
{
	if (!step_has_sent_any(c))
		step_save(c, before_count, json_integer(target));
}

static json_t *arguments(struct step_ctx *c)
{
	return json_pack("{s:s, s:s}", "cluster", c->target, "group", group_name(c));
}

static bool tell_count(struct step_ctx *c, json_t *row)
{
	const int64_t before = json_int_or(c->data, before_count, 0);
	json_t *args = arguments(c);

	json_put_int(args, "count", before);
	json_put_str(row, "object", group_name(c));
	json_put_int(row, "wanted", json_int_or(c->input, "count", 0));
	json_put_int(row, "before", before);
	step_stop(row, "scale_instance_group", args);
	return true;
}

static bool tell_group(struct step_ctx *c, json_t *row)
{
	json_put_str(row, "object", group_name(c));
	json_put_int(row, "wanted", json_int_or(c->input, "count", 1));
	json_put_int(row, "before", 0);
	step_stop(row, "delete_instance_group", arguments(c));
	return true;
}

static bool tell_change(struct step_ctx *c, json_t *row)
{
	json_t *args = group_change_back(c);

	json_put_str(row, "object", group_name(c));
	json_object_del(args, "group_name");
	json_object_del(args, "confirmed");
	json_object_del(args, "eks_name");
	json_object_del(args, "hyperpod_name");
	json_put_str(args, "cluster", c->target);
	json_put_str(args, "group", group_name(c));
	step_stop(row, "update_instance_group", args);
	return true;
}

const struct leaves group_leaves_count = {.cost = BILLED, .tell = tell_count};
const struct leaves group_leaves_group = {.cost = BILLED, .tell = tell_group};
const struct leaves group_leaves_change = {.tell = tell_change};

/* --- back again ----------------------------------------------------------------------
 */

static const char *const passed_on[] = {"cluster", "eks_name", "hyperpod_name"};

json_t *group_undo_input(struct step_ctx *c)
{
	json_t *in = json_new_object(c->arena);

	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		if (json_object_get(c->input, passed_on[i]))
			json_object_set(in, passed_on[i],
					json_object_get(c->input, passed_on[i]));
	json_put_str(in, "group_name", group_name(c));
	/* What runs on its nodes was never confirmed to be lost; a cancel may have the
	 * word for it. */
	json_object_set(in, "confirmed", json_new_list(c->arena));
	return in;
}

bool group_undo_count(struct step_ctx *c, struct spawn *ret)
{
	if (!step_has_sent_any(c))
		return false;
	ret->kind = "scale_instance_group";
	ret->target = c->target;
	ret->input = group_undo_input(c);
	json_put_int(ret->input, "count", json_int_or(c->data, before_count, 0));
	return true;
}

bool group_undo_group(struct step_ctx *c, struct spawn *ret)
{
	if (!step_has_sent(c, "add_group"))
		return false;
	ret->kind = "delete_instance_group";
	ret->target = c->target;
	ret->input = group_undo_input(c);
	/* Asked for a moment ago, perhaps: not to be seen does not mean that it is not.
	 */
	json_put(ret->input, "young",
		 json_pack("[{s:s, s:s, s:I}]", "type", GROUP_TYPE, "id", group_name(c),
			   "made_ms", (json_int_t)c->now_ms));
	return true;
}

bool group_undo_change(struct step_ctx *c, struct spawn *ret)
{
	if (!step_has_sent(c, "update_group"))
		return false;
	ret->kind = "update_instance_group";
	ret->target = c->target;
	ret->input = json_own(c->arena, group_change_back(c));
	return true;
}
