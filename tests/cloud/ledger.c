#include <assert.h>
#include <stdio.h>

#include "tests/cloud/core.h"

const json_t *cloud_ledger(struct cloud *c)
{
	return c->ledger;
}

json_t *cloud_ledger_open(struct cloud *c, const char *via, const char *service,
			  const char *op, const char *caller, const char *token,
			  const json_t *input)
{
	struct arena scratch;
	json_t *entry = json_object();

	arena_init(&scratch, 0);
	json_object_set_new(entry, "seq", json_integer(++c->seq));
	json_object_set_new(entry, "at_ms",
			    json_integer(c->o.clock->wall_ms(c->o.clock)));
	json_put_str(entry, "via", via);
	json_put_str(entry, "service", service);
	json_put_str(entry, "op", op);
	json_put_str(entry, "caller", caller);
	json_put_str(entry, "token", token);
	json_t *copy = input ? json_deep_copy(input) : json_object();

	json_put_str(entry, "digest", json_digest(&scratch, copy));
	json_object_set_new(entry, "input", copy);
	json_put_str(entry, "outcome", "open");
	json_object_set_new(entry, "effects", json_array());
	json_object_set_new(entry, "answer_lost", json_false());
	json_array_append_new(c->ledger, entry);
	assert(c->n_open < LEDGER_DEPTH);
	c->open[c->n_open++] = entry;
	arena_free(&scratch);
	return entry;
}

void cloud_ledger_close(struct cloud *c, const char *outcome)
{
	assert(c->n_open > 0);
	json_put_str(c->open[--c->n_open], "outcome", outcome);
}

void cloud_effect(struct cloud *c, const char *type, const char *id, const char *change)
{
	if (c->n_open == 0)
		return; /* the passing of time, not a mutation that arrived */
	json_t *effect = json_object();

	json_put_str(effect, "type", type);
	json_put_str(effect, "id", id);
	json_put_str(effect, "change", change);
	json_array_append_new(json_object_get(c->open[c->n_open - 1], "effects"), effect);
}

/* --- faults ------------------------------------------------------------- */

static bool known_fault(const char *name)
{
	static const char *const names[] = {
		"throttle", "error",   "lose_request", "lose_answer", "hang",
		"garbage",  "expired", "denied",       "big",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (streq(names[i], name))
			return true;
	return false;
}

bool cloud_add_fault(struct cloud *c, const json_t *rule)
{
	static const char *const members[] = {
		"service", "op",     "kube", "skip",    "times",  "probability",
		"fault",   "status", "code", "message", "for_ms", "mutating",
	};
	const char *name;
	json_t *value;

	if (!json_is_object(rule) || !known_fault(json_str_at(rule, "fault")))
		return false;
	/* A misspelt member would match everything. */
	json_object_foreach((json_t *)(uintptr_t)rule, name, value) {
		bool known = false;

		for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
			known |= streq(members[i], name);
		if (!known)
			return false;
	}
	json_t *r = json_deep_copy(rule);
	int64_t for_ms = json_int_or(rule, "for_ms", 0);

	if (for_ms > 0)
		json_put_int(r, "_until_ms", c->o.clock->wall_ms(c->o.clock) + for_ms);
	else
		json_put_int(r, "_left", json_int_or(rule, "times", 1));
	json_put_int(r, "_skip", json_int_or(rule, "skip", 0));
	json_put_int(r, "_hits", 0);
	json_array_append_new(c->faults, r);
	return true;
}

void cloud_clear_faults(struct cloud *c)
{
	json_array_clear(c->faults);
}

static bool matches(const json_t *rule, const char *service, const char *op,
		    const char *kube, bool mutating)
{
	const char *want_service = json_str_at(rule, "service");
	const char *want_op = json_str_at(rule, "op");
	const char *want_kube = json_str_at(rule, "kube");

	if ((want_service || want_op) && kube)
		return false;
	if (want_kube && (!kube || !str_starts(kube, want_kube)))
		return false;
	if (want_service && !streq(want_service, service))
		return false;
	if (want_op && !streq(want_op, op))
		return false;
	return !json_bool_or(rule, "mutating", false) || mutating;
}

static bool active(struct cloud *c, json_t *rule)
{
	json_t *until = json_object_get(rule, "_until_ms");
	int64_t skip = json_int_or(rule, "_skip", 0);

	if (until && c->o.clock->wall_ms(c->o.clock) >= json_integer_value(until))
		return false;
	if (!until && json_int_or(rule, "_left", 0) <= 0)
		return false;
	if (skip > 0) {
		json_put_int(rule, "_skip", skip - 1);
		return false;
	}
	double p = json_num_or(rule, "probability", 1.0);

	return (double)rng_below(&c->chance.rng, 1 << 24) < p * (1 << 24);
}

const json_t *cloud_take_fault(struct cloud *c, const char *service, const char *op,
			       const char *kube, bool mutating)
{
	size_t i;
	json_t *rule;

	json_array_foreach(c->faults, i, rule) {
		if (!matches(rule, service, op, kube, mutating) || !active(c, rule))
			continue;
		if (!json_object_get(rule, "_until_ms"))
			json_put_int(rule, "_left", json_int_or(rule, "_left", 0) - 1);
		json_put_int(rule, "_hits", json_int_or(rule, "_hits", 0) + 1);
		return rule;
	}
	return NULL;
}
