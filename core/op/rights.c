#include "core/op/rights.h"

#include <string.h>

#include "core/aws/policy.h"
#include "core/base/limits.h"
#include "core/json/tree.h"
#include "core/op/walk.h"

/* Of one call. No limit is published; answers stay small. */
enum { PAIRS_MAX = 60, TRIES = 2 };

struct asker {
	struct runner *r;
	struct arena *arena;
	const char *principal;
	int64_t until_ms;
	struct rights_found *found;
};

static int64_t now_ms(const struct runner *r)
{
	return r->clock->mono_ms(r->clock);
}

/* --- what was allowed lately ----------------------------------------------------------
 */

static const char *digest_of(const struct asker *k, const json_t *need)
{
	const json_t *whole = json_packf(k->arena, "[s, O]", k->principal, need);

	return arena_strndup(k->arena, json_digest(k->arena, whole), RIGHTS_DIGEST);
}

static bool is_kept(const struct asker *k, const json_t *need)
{
	const char *digest = digest_of(k, need);
	const struct rights_memo *m = k->r->rights;

	for (size_t i = 0; m && i < RIGHTS_KEPT; i++)
		if (m->kept[i].until_ms > now_ms(k->r) &&
		    streq(m->kept[i].digest, digest))
			return true;
	return false;
}

static void keep(const struct asker *k, const json_t *need)
{
	struct rights_memo *m = k->r->rights;
	struct rights_kept *row;

	if (!m)
		return;
	row = &m->kept[m->next++ % RIGHTS_KEPT];
	str_copy(row->digest, sizeof(row->digest), digest_of(k, need));
	row->until_ms = now_ms(k->r) + RIGHTS_KEPT_MS;
}

/* --- one call --------------------------------------------------------------------------
 */

/* All pages; NULL: *ans says why. */
static json_t *simulate(struct asker *k, json_t *in, struct answer *ans)
{
	const struct aws_op *op = aws_op(AWS_IAM_SimulatePrincipalPolicy);
	struct exchange x = {.via = VIA_NONE};
	json_t *all = NULL;

	for (int page = 0; in && page < LIMIT_PAGES; page++) {
		exchange_aws(&x, AWS_IAM_SimulatePrincipalPolicy, in);
		for (int i = 0; i < TRIES; i++) {
			runner_look(k->r, &x, k->arena, ans);
			if (ans->ok || !backoff_is_transient(ans->errc) ||
			    now_ms(k->r) > k->until_ms)
				break;
		}
		if (!ans->ok)
			return NULL;
		if (all)
			aws_join_page(op, all, ans->out);
		else
			all = json_own(k->arena, json_deep_copy(ans->out));
		in = aws_next_page(op, in, ans->out, k->arena);
	}
	return all;
}

/* Why IAM does not tell, for a person. */
static const char *why_not(const struct asker *k, const struct answer *ans)
{
	if (errc_is_denial(ans->errc))
		return "InstantStart is not allowed iam:SimulatePrincipalPolicy";
	if (ans->errc == ERR_CLOUD_NOT_FOUND)
		return arena_printf(k->arena, "IAM does not know %s", k->principal);
	return arena_printf(k->arena, "IAM did not answer: %s%s%s",
			    ans->code && *ans->code ? ans->code
						    : errc_info(ans->errc)->title,
			    ans->message && *ans->message ? ", " : "",
			    ans->message ? ans->message : "");
}

/* --- verdicts --------------------------------------------------------------------------
 */

static const char *by_name(enum right_by by)
{
	static const char *const names[] = {
		[BY_NOBODY] = "identity policy",
		[BY_STATEMENT] = "explicit deny",
		[BY_BOUNDARY] = "permissions boundary",
		[BY_ORGANIZATION] = "organization",
	};

	return names[by];
}

/* "eks.amazonaws.com/AWSServiceRoleForAmazonEKS": not made twice. */
static struct right_verdict linked(struct asker *k, const char *resource,
				   struct right_verdict v)
{
	const char *slash = strrchr(resource, '/');
	struct exchange x = {.via = VIA_NONE};
	struct answer ans;

	exchange_aws(
		&x, AWS_IAM_GetRole,
		json_packf(k->arena, "{s:s}", "RoleName", slash ? slash + 1 : resource));
	runner_look(k->r, &x, k->arena, &ans);
	if (ans.ok)
		return (struct right_verdict){RIGHT_ALLOWED, BY_NOBODY, NULL};
	if (ans.errc == ERR_CLOUD_NOT_FOUND)
		return v;
	return (struct right_verdict){RIGHT_NOT_KNOWN, BY_NOBODY,
				      "it is not known whether that role exists"};
}

static void judge(struct asker *k, const json_t *out, const json_t *need)
{
	const char *action = json_str_or(need, "action", "");
	const char *resource = json_str_or(need, "resource", "");
	struct right_verdict v = simulate_verdict(out, action, resource, k->arena);
	const char *sid = aws_policy_statement(action, resource, json_at(need, "context"),
					       k->arena);

	if (v.word == RIGHT_DENIED && streq(action, "iam:CreateServiceLinkedRole"))
		v = linked(k, resource, v);
	if (v.word == RIGHT_ALLOWED) {
		keep(k, need);
	} else if (v.word == RIGHT_NOT_KNOWN) {
		json_push(k->found->not_known,
			  json_pack("{s:s, s:s, s:s}", "action", action, "resource",
				    resource, "why", v.why));
	} else {
		json_push(k->found->denied,
			  json_pack("{s:s, s:s, s:s, s:s, s:s*}", "action", action,
				    "resource", resource, "by", by_name(v.by), "why",
				    v.why, "statement", sid));
		if (v.by > k->found->highest)
			k->found->highest = v.by;
	}
}

/* --- batches
 * ---------------------------------------------------------------------------- */

static json_t *members(struct asker *k, const json_t *needs, const char *member)
{
	json_t *list = json_new_list(k->arena), *need, *v;
	size_t i, n;

	json_array_foreach(needs, i, need) {
		const json_t *one = json_object_get(need, member);
		bool there = false;

		json_array_foreach(list, n, v)
			there |= json_equal(v, one);
		if (!there)
			json_array_append(list, json_object_get(need, member));
	}
	return list;
}

/* False: nothing more is to be learnt. */
static bool ask(struct asker *k, const json_t *needs)
{
	json_t *in = simulate_input(k->arena, k->principal, members(k, needs, "action"),
				    members(k, needs, "resource"),
				    json_at(json_array_get(needs, 0), "context"));
	struct answer ans = {0};
	json_t *out = simulate(k, in, &ans), *need, *one;
	size_t i;

	if (out) {
		json_array_foreach(needs, i, need)
			judge(k, out, need);
		return true;
	}
	/* Some actions may not be asked together: each by itself then. */
	if (answer_is(&ans, "InvalidInput") && json_array_size(needs) > 1) {
		json_array_foreach(needs, i, need) {
			one = json_packf(k->arena, "[O]", need);
			if (now_ms(k->r) > k->until_ms || !ask(k, one))
				return false;
		}
		return true;
	}
	k->found->unasked = why_not(k, &ans);
	return false;
}

/* What may be asked in one call: of one service, with the same context. */
static const char *batch_key(struct asker *k, const json_t *need)
{
	const char *action = json_str_or(need, "action", "");

	return arena_printf(k->arena, "%.*s %s", (int)strcspn(action, ":"), action,
			    json_text(k->arena, json_at(need, "context")));
}

/* Every action of a call is asked on every resource of it. */
static bool is_full(struct asker *k, const json_t *batch, const json_t *need)
{
	json_t *with = json_own(k->arena, json_copy((json_t *)(uintptr_t)batch));

	json_array_append(with, (json_t *)(uintptr_t)need);
	return json_array_size(members(k, with, "action")) *
		       json_array_size(members(k, with, "resource")) >
	       PAIRS_MAX;
}

static json_t *batches(struct asker *k, const json_t *needs)
{
	json_t *open = json_new_object(k->arena), *all = json_new_list(k->arena);
	json_t *need, *batch;
	size_t i;

	json_array_foreach(needs, i, need) {
		const char *key = batch_key(k, need);

		if (is_kept(k, need))
			continue;
		batch = json_object_get(open, key);
		if (!batch || is_full(k, batch, need)) {
			batch = json_array();
			json_array_append_new(all, batch);
			json_object_set(open, key, batch);
		}
		json_array_append(batch, need);
	}
	return all;
}

void rights_ask(struct runner *r, const json_t *needs, int64_t until_ms, struct arena *a,
		struct rights_found *ret)
{
	struct asker k = {.r = r,
			  .arena = a,
			  .principal = r->where->caller_arn,
			  .until_ms = until_ms,
			  .found = ret};
	const json_t *list;

	*ret = (struct rights_found){.denied = json_new_list(a),
				     .not_known = json_new_list(a),
				     .n = json_array_size(needs)};
	if (ret->n == 0)
		return;
	ret->unasked = simulate_cannot(k.principal);
	if (ret->unasked)
		return;
	list = batches(&k, needs);
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (now_ms(r) > until_ms) {
			ret->unasked = "IAM answered too slowly";
			return;
		}
		if (!ask(&k, json_array_get(list, i)))
			return;
	}
}
