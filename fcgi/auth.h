/*
 * auth.h - may this request come in, and whose is it.
 *
 * Host and Origin are checked against exact lists: localhost and 127.0.0.1
 * with any port (an SSM port forwarding picks one), and the configured names.
 * nginx checks the same; this is the second lock.
 */
#ifndef INSTANTSTART_FCGI_AUTH_H
#define INSTANTSTART_FCGI_AUTH_H

#include "core/base/config.h"
#include "core/domain/capability.h"
#include "fcgi/http.h"
#include "fcgi/sessions.h"

struct caller {
	struct principal who;
	bool by_cookie;      /* the console */
	const char *session; /* the cookie's value then */
};

/* FORBIDDEN for a foreign Host or Origin. */
bool auth_check_host(const struct config *cfg, const struct http_req *req, struct err *e)
	__attribute__((warn_unused_result));
/* UNAUTHENTICATED. */
bool auth_caller(const struct config *cfg, struct sessions *sessions, struct db *db,
		 const struct http_req *req, struct caller *ret, struct err *e)
	__attribute__((warn_unused_result));
/*
 * The console's cookie; NULL takes it away. Over https, seen by nginx or as the
 * configured address, it is a __Host- cookie, which only this very host can set;
 * another is not read there.
 * https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis (4.1.3.2)
 */
void auth_set_session(const struct config *cfg, const struct http_req *req,
		      struct http_res *res, const char *session);
/*
 * A cookie travels with requests that other pages cause. So a change that is
 * authorised by one must name our own address as its Origin.
 */
bool auth_check_csrf(const struct caller *who, const struct http_req *req, struct err *e)
	__attribute__((warn_unused_result));

#endif
