/*
 * Failed launches, counted: events outlive the claims that they are about, claims
 * outlive their first seconds without an event. Each claim counts once.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/karpenter/pending.h"
#include "core/json/tree.h"

struct tally {
	json_t *claims; /* names that were counted */
	int64_t count, first_ms, last_ms;
	const char *last;
};

static void count(struct tally *t, int64_t n, const char *first, const char *last,
		  const char *text)
{
	int64_t first_ms, last_ms;

	if (!time_parse_rfc3339(last ? last : "", &last_ms))
		return;
	if (!first || !time_parse_rfc3339(first, &first_ms))
		first_ms = last_ms;
	t->count += n;
	if (!t->first_ms || first_ms < t->first_ms)
		t->first_ms = first_ms;
	if (last_ms >= t->last_ms) {
		t->last_ms = last_ms;
		t->last = text;
	}
}

/* Claims are named after their pool: POOL-xxxxx. */
static bool is_of(const char *claim, const char *pool)
{
	const size_t n = strlen(pool);

	return strncmp(claim, pool, n) == 0 && claim[n] == '-' &&
	       !strchr(claim + n + 1, '-');
}

static const char *pool_of(const json_t *claim)
{
	return json_string_value(
		json_object_get(json_at(claim, "metadata.labels"), KARPENTER_POOL_LABEL));
}

static void count_events(const struct pending_world *w, const char *pool, struct tally *t)
{
	size_t i;
	json_t *e;

	json_array_foreach(w->events, i, e) {
		const char *claim = json_str_or(e, "involvedObject.name", "");
		const char *last = json_str_at(e, "lastTimestamp");

		if (!streq(json_str_at(e, "involvedObject.kind"), "NodeClaim") ||
		    !streq(json_str_at(e, "reason"), PENDING_EVENT) ||
		    !is_of(claim, pool))
			continue;
		json_object_set_new(t->claims, claim, json_true());
		count(t, json_int_or(e, "count", 1), json_str_at(e, "firstTimestamp"),
		      last ? last : json_str_at(e, "eventTime"),
		      json_str_or(e, "message", ""));
	}
}

static void count_claims(const struct pending_world *w, const char *pool, struct tally *t)
{
	size_t i;
	json_t *claim;

	json_array_foreach(w->claims, i, claim) {
		const char *name = json_str_or(claim, "metadata.name", "?");
		const json_t *launched = json_find(json_at(claim, "status.conditions"),
						   "type", "Launched");

		if (!streq(pool_of(claim), pool) || json_object_get(t->claims, name) ||
		    !strstr(json_str_or(launched, "reason", ""), "InsufficientCapacity"))
			continue;
		count(t, 1, json_str_at(claim, "metadata.creationTimestamp"),
		      json_str_or(launched, "lastTransitionTime",
				  json_str_or(claim, "metadata.creationTimestamp", "")),
		      json_str_or(launched, "message", ""));
	}
}

json_t *pending_tries(const struct pending_world *w, const char *pool)
{
	struct tally t = {.claims = json_new_object(w->arena), .last = ""};
	char first[TIME_TEXT], last[TIME_TEXT];

	count_events(w, pool, &t);
	count_claims(w, pool, &t);
	if (t.count == 0)
		return NULL;
	return json_pack("{s:I, s:s, s:s, s:s}", "count", (json_int_t)t.count, "first_at",
			 time_rfc3339(t.first_ms, first), "last_at",
			 time_rfc3339(t.last_ms, last), "last", t.last);
}

const char *pending_tries_text(struct arena *a, const json_t *tries)
{
	const long long n = json_int_or(tries, "count", 0);

	/* "2026-01-02T10:02:05.000Z" */
	return arena_printf(a, "%lld attempt%s since %.5s, last: %s", n,
			    n == 1 ? "" : "s", json_str_or(tries, "first_at", "") + 11,
			    json_str_or(tries, "last", ""));
}

bool pending_came(const json_t *claim, const json_t *tries)
{
	const json_t *launched =
		json_find(json_at(claim, "status.conditions"), "type", "Launched");
	const char *at =
		json_str_or(launched, "lastTransitionTime",
			    json_str_or(claim, "metadata.creationTimestamp", ""));
	int64_t at_ms, tried_ms;

	if (!streq(json_str_at(launched, "status"), "True") ||
	    !time_parse_rfc3339(at, &at_ms))
		return false;
	return !time_parse_rfc3339(json_str_or(tries, "last_at", ""), &tried_ms) ||
	       at_ms >= tried_ms;
}
