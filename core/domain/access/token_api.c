/* Tokens: made, listed, revoked. A token is shown once, by what makes it. */
#include "core/domain/access/access.h"
#include "core/domain/capability.h"
#include "core/domain/page.h"
#include "core/json/tree.h"
#include "gen/queries.h"

static const char *const role_values[] = {"viewer", "operator", "admin", NULL};

static const struct field token_out[] = {
	OUT("id", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Token ID."),
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Purpose of the token."),
	OUT("principal", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Principal that the token acts as."),
	OUT("role", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = role_values,
	    .doc = "Role that the token grants."),
	OUT("created_by", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Principal that created the token."),
	OUT("created_at", FIELD_STR, .doc = "Time of creation."),
	OUT("expires_at", FIELD_STR, .doc = "Time of expiry."),
	OUT("revoked_at", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Time of revocation."),
	OUT("last_used_at", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Time of last use, to the minute."),
	FIELD_END};

/* --- create ----------------------------------------------------------- */

struct create_token {
	const char *name;
	const char *principal;
	const char *role;
	int64_t expires_in_days;
};

static const struct field create_token_in[] = {
	FIELD(struct create_token, name, .flags = FIELD_REQUIRED, .min = 1, .max = 100,
	      .pattern = "[^\\x00-\\x1f\\x7f]+", .example = "\"ci pipeline\"",
	      .doc = "Purpose of the token."),
	FIELD(struct create_token, principal, .pattern = "[a-z0-9][a-z0-9._-]{0,62}",
	      .example = "\"ci\"",
	      .doc = "Principal that the token acts as, for audit and idempotency. "
		     "Default: you."),
	FIELD(struct create_token, role, .flags = FIELD_REQUIRED, .one_of = role_values,
	      .doc = "viewer reads, operator changes clusters, admin also manages "
		     "access."),
	FIELD(struct create_token, expires_in_days, .min = 1, .max = 365, .dflt = "90",
	      .unit = "days", .doc = "Lifetime of the token."),
	FIELD_END};

static const struct field create_token_out[] = {
	OUT("id", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Token ID."),
	OUT("token", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "The secret. It is shown only once."),
	OUT("principal", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Principal that the token acts as."),
	OUT("role", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Role that the token grants."),
	OUT("expires_in_days", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Lifetime of the token."),
	FIELD_END};

/*
 * With an idempotency key the id is a function of it. A repeat cannot show the
 * secret again, so it is refused and names what the first call made.
 */
static bool token_id(struct call *c, const char **ret_id, struct err *e)
{
	char id[sizeof("tok_") + ID_RANDOM];
	struct db_rows rows;
	const char *hash;

	if (!c->opt.idempotency_key) {
		id_make(c->rng, c->clock->wall_ms(c->clock), "tok_", id, sizeof(id));
		*ret_id = arena_strdup(c->arena, id);
		return true;
	}
	hash = access_hash(
		arena_printf(c->arena, "%s %s", c->who->id, c->opt.idempotency_key),
		c->arena);
	*ret_id = arena_printf(c->arena, "tok_%.26s", hash);
	if (!DB(c->db, c->arena, &Q_token_get, &rows, e, *ret_id))
		return false;
	if (rows.n == 0)
		return true;
	err_set(e, ERR_STATE_CONFLICT,
		"The idempotency key has already created the token %s", *ret_id);
	return err_fix(e,
		       "Its secret is not stored. Revoke the token and use a new key.");
}

static bool run_create_token(struct call *c, const void *in, struct reply *ret,
			     struct err *e)
{
	const struct create_token *t = in;
	const char *owner = t->principal ? t->principal : c->who->id;
	const char *secret = access_secret(c->rng, ACCESS_API, c->arena);
	const char *life =
		arena_printf(c->arena, "%lld", (long long)t->expires_in_days * 86400);
	const char *id;
	struct db_rows rows;

	if (!token_id(c, &id, e))
		return false;
	if (t->principal &&
	    !DB(c->db, c->arena, &Q_principal_add, &rows, e, owner, owner, t->role))
		return false;
	if (!DB(c->db, c->arena, &Q_token_create, &rows, e, id, owner, t->name,
		access_hash(secret, c->arena), t->role, life, c->who->id))
		return false;
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:s,s:s,s:s,s:s,s:I}", "id", id, "token",
			      secret, "principal", owner, "role", t->role,
			      "expires_in_days", (json_int_t)t->expires_in_days));
	return true;
}

extern const struct capability cap_create_token;
const struct capability cap_create_token = {
	.name = "create_token",
	.method = "POST",
	.path = "/tokens",
	.title = "Create a token",
	.doc = "Creates an access token for a person, pipeline or agent. The secret is "
	       "returned only once.",
	.effect = CAP_CHANGE,
	.role = ROLE_ADMIN,
	.flags = CAP_REST_ONLY,
	.in = create_token_in,
	.in_size = sizeof(struct create_token),
	.out = create_token_out,
	.run = run_create_token,
};

/* --- list ------------------------------------------------------------- */

struct list_tokens {
	int64_t limit;
	const char *cursor;
};

static const struct field list_tokens_in[] = {
	PAGE_FIELDS(struct list_tokens, .pattern = "tok_[0-9a-z]{1,40}"), FIELD_END};
static const struct field list_tokens_out[] = {PAGE_OUT(token_out), FIELD_END};

static bool run_list_tokens(struct call *c, const void *in, struct reply *ret,
			    struct err *e)
{
	const struct list_tokens *l = in;
	struct db_rows rows;

	if (!DB(c->db, c->arena, &Q_token_list, &rows, e, l->cursor,
		arena_printf(c->arena, "%lld", (long long)l->limit)))
		return false;
	reply_text(ret, str_of(db_text(&rows, 0, "doc")));
	return true;
}

extern const struct capability cap_list_tokens;
const struct capability cap_list_tokens = {
	.name = "list_tokens",
	.method = "GET",
	.path = "/tokens",
	.title = "List tokens",
	.doc = "Lists who has access, with which role, until when, and when each token "
	       "was last used.",
	.effect = CAP_READ,
	.role = ROLE_ADMIN,
	.flags = CAP_REST_ONLY | CAP_LIST,
	.in = list_tokens_in,
	.in_size = sizeof(struct list_tokens),
	.out = list_tokens_out,
	.run = run_list_tokens,
};

/* --- revoke ----------------------------------------------------------- */

struct revoke_token {
	const char *id;
};

static const struct field revoke_token_in[] = {FIELD(struct revoke_token, id,
						     .flags = FIELD_REQUIRED | FIELD_PATH,
						     .max = 64, .doc = "Token ID."),
					       FIELD_END};

static bool run_revoke_token(struct call *c, const void *in, struct reply *ret,
			     struct err *e)
{
	const struct revoke_token *t = in;
	struct db_rows rows;

	if (!DB(c->db, c->arena, &Q_token_revoke, &rows, e, t->id) ||
	    !DB(c->db, c->arena, &Q_token_get, &rows, e, t->id))
		return false;
	reply_text(ret, str_of(db_text(&rows, 0, "doc")));
	return true;
}

extern const struct capability cap_revoke_token;
const struct capability cap_revoke_token = {
	.name = "revoke_token",
	.method = "DELETE",
	.path = "/tokens/{id}",
	.title = "Revoke a token",
	.doc = "Revokes a token immediately. Operations that it started continue.",
	.effect = CAP_CHANGE,
	.role = ROLE_ADMIN,
	.flags = CAP_REST_ONLY | CAP_IDEMPOTENT,
	.in = revoke_token_in,
	.in_size = sizeof(struct revoke_token),
	.out = token_out,
	.target = "id",
	.run = run_revoke_token,
};
