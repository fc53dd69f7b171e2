#include "core/domain/access/access.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "gen/queries.h"

/* The administrator that a login link is for. */
static const char admin_id[] = "admin";

static const char *const prefixes[] = {
	[ACCESS_API] = "ist_", [ACCESS_SESSION] = "iss_", [ACCESS_LOGIN] = "isl_"};

const char *access_secret(struct rng *r, enum access_kind kind, struct arena *a)
{
	unsigned char random[32];

	r->fill(r, random, sizeof(random));
	return arena_printf(a, "%s%s", prefixes[kind],
			    str_hex(a, random, sizeof(random)));
}

const char *access_hash(const char *secret, struct arena *a)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (EVP_Digest(secret, strlen(secret), sum, &n, EVP_sha256(), NULL) != 1)
		abort();
	return str_hex(a, sum, n);
}

static bool is_unknown(struct err *e)
{
	return err_set(e, ERR_UNAUTHENTICATED,
		       "The link is unknown, expired or already used");
}

static struct principal principal_of(const struct db_rows *rows)
{
	return (struct principal){.id = db_text(rows, 0, "principal"),
				  .name = db_text(rows, 0, "name"),
				  .role = role_from_name(db_text(rows, 0, "role"))};
}

bool access_find(struct db *db, struct arena *a, const char *secret,
		 enum access_kind kind, struct principal *ret, struct err *e)
{
	const struct db_query *q = kind == ACCESS_API ? &Q_token_check : &Q_session_check;
	struct db_rows rows;

	/* What is none of ours costs no question. */
	if (!str_starts(secret, prefixes[kind]))
		return is_unknown(e);
	if (!DB(db, a, q, &rows, e, access_hash(secret, a)))
		return false;
	if (rows.n == 0)
		return is_unknown(e);
	*ret = principal_of(&rows);
	return true;
}

bool access_login(struct db *db, struct arena *a, struct rng *r, const char *code,
		  struct principal *ret, const char **ret_session, struct err *e)
{
	const char *life = arena_printf(a, "%d", ACCESS_SESSION_S);
	const char *session = access_secret(r, ACCESS_SESSION, a);
	struct db_rows made;

	if (!str_starts(code, prefixes[ACCESS_LOGIN]))
		return is_unknown(e);
	if (!DB(db, a, &Q_session_create_by_link, &made, e, access_hash(code, a),
		access_hash(session, a), life))
		return false;
	if (made.n == 0)
		return is_unknown(e);
	*ret = principal_of(&made);
	*ret_session = session;
	return true;
}

bool access_login_by_token(struct db *db, struct arena *a, struct rng *r,
			   const char *token, struct principal *ret,
			   const char **ret_session, struct err *e)
{
	const char *life = arena_printf(a, "%d", ACCESS_SESSION_S);
	const char *session = access_secret(r, ACCESS_SESSION, a);
	struct db_rows made;

	if (!str_starts(token, prefixes[ACCESS_API]))
		return is_unknown(e);
	if (!DB(db, a, &Q_session_create_by_token, &made, e, access_hash(session, a),
		access_hash(token, a), life))
		return false;
	if (made.n == 0)
		return is_unknown(e);
	*ret = principal_of(&made);
	*ret_session = session;
	return true;
}

bool access_new_login(struct db *db, struct arena *a, struct rng *r,
		      const char **ret_code, struct err *e)
{
	const char *life = arena_printf(a, "%d", ACCESS_LOGIN_S);
	const char *role = role_name(ROLE_ADMIN);
	struct db_rows rows;

	*ret_code = access_secret(r, ACCESS_LOGIN, a);
	return DB(db, a, &Q_principal_put, &rows, e, admin_id, "Administrator", role) &&
	       DB(db, a, &Q_login_link_create, &rows, e, access_hash(*ret_code, a),
		  admin_id, role, life);
}

bool access_is_new(struct db *db, struct arena *a, bool *ret, struct err *e)
{
	struct db_rows rows;

	if (!db_query(db, a, &Q_principal_count, NULL, 0, &rows, e))
		return false;
	*ret = db_int(&rows, 0, "n") == 0;
	return true;
}
