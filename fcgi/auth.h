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
	bool by_cookie; /* the console */
};

/* FORBIDDEN for a foreign Host or Origin. */
bool auth_check_host(const struct config *cfg, const struct http_req *req, struct err *e)
	__attribute__((warn_unused_result));
/* UNAUTHENTICATED. */
bool auth_caller(struct sessions *sessions, struct db *db, const struct http_req *req,
		 struct caller *ret, struct err *e) __attribute__((warn_unused_result));
/*
 * A cookie travels with requests that other pages cause. So a change that is
 * authorised by one must name our own address as its Origin.
 */
bool auth_check_csrf(const struct caller *who, const struct http_req *req, struct err *e)
	__attribute__((warn_unused_result));

#endif
