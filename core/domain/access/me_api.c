/* Who am I, and leaving. */
#include "core/domain/access/access.h"
#include "core/domain/capability.h"
#include "core/json/tree.h"
#include "gen/queries.h"

static const struct field me_out[] = {
	OUT("id", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "ID of the principal."),
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Display name."),
	OUT("role", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "viewer, operator or admin."),
	OUT("account", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NULLABLE,
	    .doc = "AWS account that this installation manages."),
	OUT("region", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NULLABLE,
	    .doc = "AWS region that this installation manages."),
	OUT("selected_cluster", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NULLABLE,
	    .doc = "Your selected cluster."),
	OUT("version", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Version of this program."),
	FIELD_END};

static bool run_get_me(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	struct db_rows rows;

	(void)in;
	if (!DB(c->db, c->arena, &Q_selection_get, &rows, e, c->who->id))
		return false;
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:s,s:s,s:s,s:s?,s:s?,s:s?,s:s}", "id",
			      c->who->id, "name", c->who->name, "role",
			      role_name(c->who->role), "account",
			      c->where ? c->where->account : NULL, "region",
			      c->where ? c->where->region : NULL, "selected_cluster",
			      rows.n ? db_text(&rows, 0, "cluster") : NULL, "version",
			      INSTANTSTART_VERSION));
	return true;
}

extern const struct capability cap_get_me;
const struct capability cap_get_me = {
	.name = "get_me",
	.method = "GET",
	.path = "/me",
	.title = "Get your identity",
	.doc = "Returns your name and role, the AWS account and region, and your "
	       "selected cluster.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.out = me_out,
	.run = run_get_me,
};

static const struct field sign_out_out[] = {
	OUT("signed_out", FIELD_BOOL, .flags = FIELD_REQUIRED, .doc = "Always true."),
	FIELD_END};

/* Ends the session in the cookie; without one there is nothing to end. */
static bool run_sign_out(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	struct db_rows rows;

	(void)in;
	if (c->session && !DB(c->db, c->arena, &Q_session_end, &rows, e,
			      access_hash(c->session, c->arena)))
		return false;
	ret->ends_session = true;
	reply_text(ret, STR("{\"signed_out\":true}"));
	return true;
}

extern const struct capability cap_sign_out;
const struct capability cap_sign_out = {
	.name = "sign_out",
	.method = "POST",
	.path = "/sign-out",
	.title = "Sign out",
	.doc = "Ends the console session of this browser.",
	.effect = CAP_CHANGE,
	.role = ROLE_VIEWER,
	.flags = CAP_REST_ONLY | CAP_IDEMPOTENT,
	.out = sign_out_out,
	.run = run_sign_out,
};

static const struct field everywhere_out[] = {OUT("signed_out", FIELD_INT,
						  .flags = FIELD_REQUIRED,
						  .doc = "Number of sessions ended."),
					      FIELD_END};

static bool run_sign_out_everywhere(struct call *c, const void *in, struct reply *ret,
				    struct err *e)
{
	struct db_rows rows;

	(void)in;
	if (!DB(c->db, c->arena, &Q_session_end_all, &rows, e, c->who->id))
		return false;
	ret->ends_session = true;
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:I}", "signed_out",
			      (json_int_t)db_int(&rows, 0, "n")));
	return true;
}

extern const struct capability cap_sign_out_everywhere;
const struct capability cap_sign_out_everywhere = {
	.name = "sign_out_everywhere",
	.method = "POST",
	.path = "/sign-out:everywhere",
	.title = "Sign out everywhere",
	.doc = "Ends all your console sessions, in all browsers. Tokens stay valid.",
	.effect = CAP_CHANGE,
	.role = ROLE_VIEWER,
	.flags = CAP_REST_ONLY | CAP_IDEMPOTENT,
	.out = everywhere_out,
	.run = run_sign_out_everywhere,
};
