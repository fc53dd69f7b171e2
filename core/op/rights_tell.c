/* What came of asking for our rights, in words: for plans, and for who is refused. */
#include "core/base/listing.h"
#include "core/json/tree.h"
#include "core/op/rights.h"

const char *rights_verdict(const struct rights_found *f)
{
	if (json_array_size(f->denied))
		return "does_not_fit";
	return f->unasked || json_array_size(f->not_known) ? "not_known" : "fits";
}

static const char *names(struct arena *a, const json_t *rows, const char *member)
{
	struct listing all = listing_new(a, ", ", LISTING_SHORT);
	json_t *seen = json_new_object(a), *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		const char *name = json_str_at(row, member);

		if (name && !json_object_get(seen, name)) {
			listing_add(&all, "%s", name);
			json_object_set_new(seen, name, json_true());
		}
	}
	return listing_text(&all);
}

/* What the printed policy has by a statement, and what it has not. */
static const char *additions(const struct rights_found *f, struct arena *a)
{
	struct listing own = listing_new(a, ", ", LISTING_SHORT);
	const char *sids = names(a, f->denied, "statement");
	size_t i;
	json_t *row;

	json_array_foreach(f->denied, i, row)
		if (!json_str_at(row, "statement"))
			listing_add(&own, "%s on %s", json_str_or(row, "action", ""),
				    json_str_or(row, "resource", ""));
	if (!own.n)
		return arena_printf(
			a, "Add the statements %s of instantstart-poller --iam-policy",
			sids);
	return arena_printf(a, "Allow %s%s%s%s", listing_text(&own),
			    *sids ? ", and add the statements " : "", sids,
			    *sids ? " of instantstart-poller --iam-policy," : "");
}

static void say_fix(const struct rights_found *f, const char *principal, struct arena *a,
		    struct err *e)
{
	if (f->highest == BY_ORGANIZATION)
		err_fix(e,
			"Ask the administrator of the organization to allow these actions. "
			"More permissions for %s do not help.",
			principal);
	else if (f->highest == BY_BOUNDARY)
		err_fix(e,
			"Add these actions to the permissions boundary of %s. More "
			"policies do not help.",
			principal);
	else if (f->highest == BY_STATEMENT)
		err_fix(e, "Exempt %s from that deny. More permissions do not help.",
			principal);
	else
		err_fix(e,
			"%s to %s. If a policy that IAM cannot simulate allows them, set "
			"%s to true.",
			additions(f, a), principal, RIGHTS_ACCEPT);
}

bool rights_refuse(const struct rights_found *f, const char *principal, struct arena *a,
		   struct err *e)
{
	size_t i;
	json_t *row;

	err_set(e, f->highest > BY_NOBODY ? ERR_CLOUD_FORBIDDEN : ERR_CLOUD_DENIED,
		"%s is not allowed actions that this operation needs: %s", principal,
		names(a, f->denied, "action"));
	err_field(e, "", json_str_or(json_array_get(f->denied, 0), "resource", ""),
		  json_str_or(json_array_get(f->denied, 0), "action", ""));
	json_array_foreach(f->denied, i, row)
		err_because(e, "iam:SimulatePrincipalPolicy",
			    json_str_or(row, "action", ""),
			    arena_printf(a, "on %s: %s", json_str_or(row, "resource", ""),
					 json_str_or(row, "why", "")),
			    NULL);
	say_fix(f, principal, a, e);
	return false;
}

const char *rights_unknown(const struct rights_found *f, struct arena *a)
{
	const json_t *first = json_array_get(f->not_known, 0);

	if (f->unasked)
		return arena_printf(a,
				    "InstantStart's permissions could not be checked: %s",
				    f->unasked);
	if (!first)
		return NULL;
	return arena_printf(
		a, "InstantStart's permission for %s could not be checked: %s",
		names(a, f->not_known, "action"), json_str_or(first, "why", ""));
}

bool rights_tell(struct runner *r, const json_t *needs, bool accepted, int64_t until_ms,
		 struct arena *a, json_t *checks, json_t *warnings, struct err *e)
{
	const char *principal = r->where->caller_arn;
	struct rights_found f;
	const char *unknown;
	json_t *row;
	size_t i;

	rights_ask(r, needs, until_ms, a, &f);
	if (f.n == 0)
		return true;
	if (json_array_size(f.denied) && !accepted)
		return rights_refuse(&f, principal, a, e);
	unknown = rights_unknown(&f, a);
	if (unknown)
		json_push(warnings, json_sprintf("not known: %s", unknown));
	json_array_foreach(f.denied, i, row)
		json_push(warnings,
			  json_sprintf("%s is not allowed %s on %s: %s", principal,
				       json_str_or(row, "action", ""),
				       json_str_or(row, "resource", ""),
				       json_str_or(row, "why", "")));
	json_push(checks,
		  json_pack("{s:s, s:{s:s, s:s*, s:i, s:s*, s:O, s:O}}", "what", "rights",
			    "data", "verdict", rights_verdict(&f), "principal", principal,
			    "asked", (int)f.n, "why", unknown, "denied", f.denied,
			    "not_known", f.not_known));
	return true;
}
