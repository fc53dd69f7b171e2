/*
 * Whether the cloud is still asked for what we have asked for.
 *
 * Success is what was asked, or an outcome of its own. Somebody else's change is
 * believed when two looks agree, further apart than a read may lag behind our call.
 */
#include "core/json/tree.h"
#include "core/op/walk.h"

enum { LAG_S = 20, LOOK_S = 10 };

static const char *path(const struct step_ctx *c)
{
	return arena_printf(c->arena, "_moved.%s", c->step->name);
}

bool goal_moved(struct step_ctx *c)
{
	const struct wait *wait = c->step->wait;
	const char *now;
	int64_t since, lag_ms;
	struct err *e;

	if (!wait || !wait->moved || c->planning)
		return false;
	now = wait->moved(c);
	if (c->verdict.kind != VERDICT_NONE)
		return true;
	if (!now) {
		json_drop(c->data, path(c));
		return false;
	}
	since = json_int_or(c->data, path(c), 0);
	lag_ms = (wait->lag_s ? wait->lag_s : LAG_S) * INT64_C(10) *
		 c->cfg->poll_scale_percent;
	if (since == 0 || c->now_ms - since < lag_ms) {
		if (since == 0)
			step_save(c, path(c), json_integer(c->now_ms));
		step_wait(c, LOOK_S, "a second check: %s", now);
		return true;
	}
	json_drop(c->data, path(c));
	e = step_fail(c, ERR_GOAL_MOVED,
		      "The requested values were changed outside InstantStart: %s", now);
	err_fix(e,
		"Find out who changed them (the cause, the cluster events, CloudTrail). "
		"A retry requests them again.");
	return true;
}
