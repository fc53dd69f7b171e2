/*
 * access.h - who is calling: tokens, sessions and login codes.
 *
 * All three are 256 random bits with a prefix that tells what they are. They
 * are shown once and stored as SHA-256: with that much randomness a plain
 * hash is enough, and looking one up is one index probe.
 */
#ifndef INSTANTSTART_DOMAIN_ACCESS_ACCESS_H
#define INSTANTSTART_DOMAIN_ACCESS_ACCESS_H

#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/rng.h"
#include "core/db/db.h"
#include "core/domain/capability.h"

#define ACCESS_COOKIE      "instantstart_session"
#define ACCESS_HOST_COOKIE "__Host-instantstart_session"
enum {
	ACCESS_SESSION_S = 12 * 3600,
	ACCESS_LOGIN_S = 3600,
};

enum access_kind { ACCESS_API, ACCESS_SESSION, ACCESS_LOGIN };

/* A new secret of that kind: prefix and 64 hexadecimal digits. */
const char *access_secret(struct rng *r, enum access_kind kind, struct arena *a);
/* Lower-case hex SHA-256: what is stored. */
const char *access_hash(const char *secret, struct arena *a);

/* UNAUTHENTICATED when unknown, expired, revoked or of another kind. */
bool access_find(struct db *db, struct arena *a, const char *secret,
		 enum access_kind kind, struct principal *ret, struct err *e)
	__attribute__((warn_unused_result));

/* Uses up a login code; *ret_session is the cookie's value. */
bool access_login(struct db *db, struct arena *a, struct rng *r, const char *code,
		  struct principal *ret, const char **ret_session, struct err *e)
	__attribute__((warn_unused_result));
/* A session for whoever holds the token; it ends with the token. */
bool access_login_by_token(struct db *db, struct arena *a, struct rng *r,
			   const char *token, struct principal *ret,
			   const char **ret_session, struct err *e)
	__attribute__((warn_unused_result));
/* A login code for the administrator. */
bool access_new_login(struct db *db, struct arena *a, struct rng *r,
		      const char **ret_code, struct err *e)
	__attribute__((warn_unused_result));
/* Nobody has ever been given access: the first start. */
bool access_is_new(struct db *db, struct arena *a, bool *ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
