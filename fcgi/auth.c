#include "fcgi/auth.h"

#include <string.h>
#include <strings.h>

#include "core/domain/access/access.h"

/* "name", "name:port" or "[v6]:port" without its port. */
static struct str host_name(struct str host)
{
	struct str rest = host;

	if (host.n && host.p[0] == '[') {
		const char *end = memchr(host.p, ']', host.n);

		return end ? (struct str){host.p, (size_t)(end - host.p) + 1} : host;
	}
	return str_cut(&rest, ':');
}

static bool same_name(struct str a, struct str b)
{
	return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

static bool known(const struct config *cfg, struct str host)
{
	const struct str name = host_name(host);
	struct str rest = str_of(cfg->hosts);

	if (same_name(name, STR("localhost")) || same_name(name, STR("127.0.0.1")) ||
	    same_name(name, STR("[::1]")))
		return true;
	while (rest.p && rest.n) {
		const struct str one = str_trim(str_cut(&rest, ','));

		if (one.n && (same_name(name, one) || same_name(host, one)))
			return true;
	}
	return false;
}

/* The host part of "http://host" or "https://host"; empty for anything else. */
static struct str origin_host(const char *origin)
{
	struct str o = str_of(origin);

	if (str_has_prefix(o, STR("https://")))
		return (struct str){o.p + 8, o.n - 8};
	if (str_has_prefix(o, STR("http://")))
		return (struct str){o.p + 7, o.n - 7};
	return (struct str){"", 0};
}

static bool refuse(struct err *e, const char *what, const char *seen)
{
	err_set(e, ERR_FORBIDDEN, "The %s is not allowed", what);
	err_field(e, "", seen, "localhost, 127.0.0.1 or a configured name");
	return err_fix(e, "If the name is yours, add it to INSTANTSTART_HOSTS.");
}

bool auth_check_host(const struct config *cfg, const struct http_req *req, struct err *e)
{
	const char *host = http_header(req, "HTTP_HOST");
	const char *origin = http_header(req, "HTTP_ORIGIN");

	if (!host || !known(cfg, str_of(host)))
		return refuse(e, "Host", host ? host : "");
	if (origin && !known(cfg, origin_host(origin)))
		return refuse(e, "Origin", origin);
	return true;
}

static bool refuse_credentials(struct err *e, const char *what)
{
	err_set(e, ERR_UNAUTHENTICATED, "%s", what);
	return err_fix(
		e,
		"Send \"Authorization: Bearer <token>\". An administrator creates tokens "
		"with create_token. For access as administrator, run instantstart-fcgi "
		"--new-login-link on the host.");
}

/* Something before nginx may end TLS: then it is the configured address. */
static bool by_https(const struct config *cfg, const struct http_req *req)
{
	const char *host = http_header(req, "HTTP_HOST");
	struct str rest = str_of(cfg->public_url);
	const bool https = str_has_prefix(rest, STR("https://"));

	if (http_header(req, "HTTPS") || !https || !host)
		return http_header(req, "HTTPS") != NULL;
	rest = (struct str){rest.p + 8, rest.n - 8};
	return same_name(str_cut(&rest, '/'), str_of(host));
}

void auth_set_session(const struct config *cfg, const struct http_req *req,
		      struct http_res *res, const char *session)
{
	const bool https = by_https(cfg, req);

	http_res_header(res, "Set-Cookie",
			arena_printf(req->arena,
				     "%s=%s; Path=/; Max-Age=%d; HttpOnly; "
				     "SameSite=Strict%s",
				     https ? ACCESS_HOST_COOKIE : ACCESS_COOKIE,
				     session ? session : "",
				     session ? ACCESS_SESSION_S : 0,
				     https ? "; Secure" : ""));
}

bool auth_caller(const struct config *cfg, struct sessions *sessions, struct db *db,
		 const struct http_req *req, struct caller *ret, struct err *e)
{
	const char *sent = http_header(req, "HTTP_AUTHORIZATION");
	const char *cookie =
		http_cookie(req, by_https(cfg, req) ? ACCESS_HOST_COOKIE : ACCESS_COOKIE);
	bool ok;

	*ret = (struct caller){.by_cookie = !sent && cookie,
			       .session = sent ? NULL : cookie};
	if (sent && strncasecmp(sent, "Bearer ", 7) != 0)
		return refuse_credentials(e, "Only bearer tokens are supported");
	if (!sent && !cookie)
		return refuse_credentials(e, "The request has no token");
	if (sent)
		ok = sessions_find(sessions, db, req->arena,
				   str_dup(req->arena, str_trim(str_of(sent + 7))),
				   ACCESS_API, &ret->who, e);
	else
		ok = sessions_find(sessions, db, req->arena, cookie, ACCESS_SESSION,
				   &ret->who, e);
	if (!ok && e->code == ERR_UNAUTHENTICATED)
		return refuse_credentials(
			e, sent ? "The token is unknown, expired or revoked"
				: "The session has ended: sign in again");
	return ok;
}

bool auth_check_csrf(const struct caller *who, const struct http_req *req, struct err *e)
{
	const char *origin = http_header(req, "HTTP_ORIGIN");
	const char *host = http_header(req, "HTTP_HOST");

	if (!who->by_cookie || streq(req->method, "GET") || streq(req->method, "HEAD"))
		return true;
	if (origin && host && same_name(origin_host(origin), str_of(host)))
		return true;
	err_set(e, ERR_FORBIDDEN,
		"A change from the console must come from a page of the console");
	return err_field(e, "", origin ? origin : "", host ? host : "");
}
