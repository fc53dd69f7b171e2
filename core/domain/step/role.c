#include "core/domain/step/role.h"

#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

static const char POLICY_NAME[] = "instantstart";

static const struct role_spec *spec_of(const struct step_ctx *c)
{
	return c->step->arg;
}

static bool skipped(const struct step_ctx *c)
{
	const struct role_spec *s = spec_of(c);

	return s->given && s->given(c);
}

static const char *role_of(const struct step_ctx *c)
{
	return name_role(c, spec_of(c)->purpose);
}

static json_t *by_role_name(const struct step_ctx *c)
{
	return json_packf(c->arena, "{s:s}", "RoleName", role_of(c));
}

json_t *role_trust_wanted(struct step_ctx *c, const struct role_spec *s)
{
	json_t *actions;

	if (s->trust)
		return json_packf(c->arena, "{s:s, s:o}", "Version", "2012-10-17",
				  "Statement", s->trust(c));
	actions = json_pack("[s]", "sts:AssumeRole");
	if (s->tag_session)
		json_array_append_new(actions, json_string("sts:TagSession"));
	return json_packf(c->arena, "{s:s, s:[{s:s, s:{s:s}, s:o}]}", "Version",
			  "2012-10-17", "Statement", "Effect", "Allow", "Principal",
			  "Service", s->service, "Action", actions);
}

static const char *trust_document(struct step_ctx *c)
{
	return json_text(c->arena, role_trust_wanted(c, spec_of(c)));
}

static json_t *parsed(struct step_ctx *c, const char *text)
{
	struct err ignored;

	return text ? json_parse(c->arena, str_of(text), &ignored) : NULL;
}

/* --- the role ------------------------------------------------------------ */

bool role_create_observe(struct step_ctx *c, struct exchange *x)
{
	return !skipped(c) && read_aws(c, x, "role", AWS_IAM_GetRole, by_role_name(c));
}

/* Somebody else's, or ours without its tag: only the caller knows. */
static void take_over(struct step_ctx *c, struct exchange *x, const json_t *tags)
{
	struct err *e;

	if (json_bool_or(c->input, "adopt", false)) {
		c->item = "adopt";
		exchange_aws(x, AWS_IAM_TagRole,
			     json_packf(c->arena, "{s:s, s:O}", "RoleName", role_of(c),
					"Tags", step_tags(c)));
		x->what = arena_printf(c->arena, "Adopt the role %s", role_of(c));
		return;
	}
	e = step_fail(c, ERR_FOREIGN_OBJECT,
		      "A role named %s exists and does not belong to InstantStart",
		      role_of(c));
	owner_tell(c, e, tags);
	err_fix(e, "The existing role is not changed. Set a role of your own.");
}

void role_create_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *role = json_at(saw(c, "role"), "Role");
	const char *boundary = step_input(c, "permissions_boundary");
	json_t *in;

	if (skipped(c))
		return;
	if (role) {
		if (!step_tagged_cluster(c, json_at(role, "Tags"))) {
			take_over(c, x, json_at(role, "Tags"));
			return;
		}
		step_own(c, "iam:role", role_of(c), json_str_at(role, "Arn"), "made");
		return;
	}
	in = json_packf(c->arena, "{s:s, s:s, s:s, s:O}", "RoleName", role_of(c),
			"AssumeRolePolicyDocument", trust_document(c), "Description",
			spec_of(c)->description, "Tags", step_tags(c));
	if (spec_of(c)->self_tag)
		json_push(json_object_get(in, "Tags"),
			  json_pack("{s:s, s:s}", "Key", spec_of(c)->self_tag, "Value",
				    role_of(c)));
	json_put_str(in, "PermissionsBoundary",
		     boundary ? boundary : c->cfg->permissions_boundary);
	exchange_aws(x, AWS_IAM_CreateRole, in);
	x->what = arena_printf(c->arena, "Create the role %s: %s", role_of(c),
			       spec_of(c)->description);
}

void role_create_absorb(struct step_ctx *c, const struct answer *a)
{
	if (answer_is(a, "EntityAlreadyExists")) {
		step_wait(c, 2, "the existing role %s to be checked", role_of(c));
		return;
	}
	if (!a->ok) {
		step_fail_answer(c, a, "the role %s was rejected", role_of(c));
		return;
	}
	if (streq(c->item, "adopt")) {
		step_own(c, "iam:role", role_of(c), name_role_arn(c, spec_of(c)->purpose),
			 "adopted");
		step_advance(c);
		return;
	}
	step_own(c, "iam:role", role_of(c), json_str_at(a->out, "Role.Arn"), "made");
	step_save(c, arena_printf(c->arena, "role_made_ms.%d", (int)spec_of(c)->purpose),
		  json_integer(c->now_ms));
	step_advance(c);
}

/* --- its inline policy ----------------------------------------------------- */

json_t *role_policy_wanted(struct step_ctx *c, const struct role_spec *s)
{
	return json_packf(c->arena, "{s:s, s:o}", "Version", "2012-10-17", "Statement",
			  s->statements(c));
}

bool role_policy_observe(struct step_ctx *c, struct exchange *x)
{
	return !skipped(c) && spec_of(c)->statements &&
	       read_aws(c, x, "policy", AWS_IAM_GetRolePolicy,
			json_packf(c->arena, "{s:s, s:s}", "RoleName", role_of(c),
				   "PolicyName", POLICY_NAME));
}

void role_policy_plan(struct step_ctx *c, struct exchange *x)
{
	const char *text = json_str_at(saw(c, "policy"), "PolicyDocument");
	json_t *wanted, *present;

	if (skipped(c) || !spec_of(c)->statements)
		return;
	wanted = role_policy_wanted(c, spec_of(c));
	present = parsed(c, text);
	if (present && json_equal(present, wanted))
		return;
	exchange_aws(x, AWS_IAM_PutRolePolicy,
		     json_packf(c->arena, "{s:s, s:s, s:s}", "RoleName", role_of(c),
				"PolicyName", POLICY_NAME, "PolicyDocument",
				json_text(c->arena, wanted)));
	x->what = arena_printf(c->arena, "Put the policy of the role %s", role_of(c));
}

void role_absorb(struct step_ctx *c, const struct answer *a)
{
	/* A role made a moment ago may not be everywhere yet. */
	if (!a->ok && a->errc == ERR_CLOUD_NOT_FOUND)
		step_retry(c, ERR_ROLE_NOT_READY, "the role %s is not visible yet: %s",
			   role_of(c), a->message ? a->message : "not found");
	else if (!a->ok)
		step_fail_answer(c, a, "the policy of the role %s was rejected",
				 role_of(c));
	else
		step_advance(c);
}

/* --- whom it trusts --------------------------------------------------------- */

bool role_mend_observe(struct step_ctx *c, struct exchange *x)
{
	return role_create_observe(c, x);
}

/* Case IA-08: a kept role trusts the provider of a cluster that is no more. */
void role_mend_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *role = json_at(saw(c, "role"), "Role");
	const json_t *wanted, *present;

	if (skipped(c) || !role)
		return;
	wanted = role_trust_wanted(c, spec_of(c));
	present = parsed(c, json_str_at(role, "AssumeRolePolicyDocument"));
	if (present && json_equal(present, wanted))
		return;
	step_event(c, "trust_differs",
		   json_pack("{s:s, s:s, s:O}", "role", role_of(c), "seen",
			     json_str_or(role, "AssumeRolePolicyDocument", ""), "wanted",
			     wanted));
	exchange_aws(x, AWS_IAM_UpdateAssumeRolePolicy,
		     json_packf(c->arena, "{s:s, s:s}", "RoleName", role_of(c),
				"PolicyDocument", json_text(c->arena, wanted)));
	x->what = arena_printf(c->arena, "Restore the trust policy of the role %s",
			       role_of(c));
}

/* --- its managed policies ---------------------------------------------------- */

bool role_attach_observe(struct step_ctx *c, struct exchange *x)
{
	return !skipped(c) && spec_of(c)->managed[0] &&
	       read_all(c, x, "attached", AWS_IAM_ListAttachedRolePolicies,
			by_role_name(c));
}

/* A plan shows the row once: it names all that will be attached. */
static const char *all_managed(const struct step_ctx *c)
{
	const struct role_spec *s = spec_of(c);
	const char *list = s->managed[0];

	for (size_t i = 1; i < ROLE_MANAGED_MAX && s->managed[i]; i++)
		list = arena_printf(c->arena, "%s, %s", list, s->managed[i]);
	return list;
}

/* One policy a claim: each has an effect of its own. */
void role_attach_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *attached = json_at(saw(c, "attached"), "AttachedPolicies");
	const struct role_spec *s = spec_of(c);

	if (skipped(c))
		return;
	for (size_t i = 0; i < ROLE_MANAGED_MAX && s->managed[i]; i++) {
		const char *arn = arena_printf(c->arena, "arn:%s:iam::aws:policy/%s",
					       c->where->partition, s->managed[i]);

		if (json_find(attached, "PolicyArn", arn))
			continue;
		c->item = s->managed[i];
		exchange_aws(x, AWS_IAM_AttachRolePolicy,
			     json_packf(c->arena, "{s:s, s:s}", "RoleName", role_of(c),
					"PolicyArn", arn));
		x->what = arena_printf(c->arena, "Attach %s to the role %s",
				       c->planning ? all_managed(c) : s->managed[i],
				       role_of(c));
		return;
	}
}

void role_attach_absorb(struct step_ctx *c, const struct answer *a)
{
	role_absorb(c, a);
	if (c->verdict.kind == VERDICT_ADVANCE)
		step_goto(c, c->step->name); /* until nothing is left to attach */
}
