#include "fcgi/route.h"

#include <string.h>

enum { API_SEGMENTS = 2 }; /* "api", "v1" */

/* Takes the value of "{member}" or "{member}:verb" out of a segment. */
static bool match_member(struct str want, const char *have, struct arena *a,
			 struct http_pair *ret, int *score)
{
	struct str verb = want, value = str_of(have);
	const struct str name = str_cut(&verb, '}');

	if (verb.n > 0) {
		if (!str_has_suffix(value, verb))
			return false;
		value.n -= verb.n;
		*score += 1;
	}
	/* A colon begins a verb: it is no part of a name. */
	if (value.n == 0 || memchr(value.p, ':', value.n))
		return false;
	ret->name = str_dup(a, (struct str){name.p + 1, name.n - 1});
	ret->value = str_dup(a, value);
	return true;
}

/* -1: another path. Else the more literal the path, the higher. */
static int match(const struct capability *cap, const struct http_req *req,
		 struct route *ret)
{
	struct str rest = str_of(cap->path + 1);
	size_t at = API_SEGMENTS;
	int score = 0;

	ret->cap = cap;
	ret->n_members = 0;
	for (; rest.p; at++) {
		const struct str want = str_cut(&rest, '/');

		if (at >= req->n_segments)
			return -1;
		if (want.p[0] != '{') {
			if (!str_is(want, req->segment[at]))
				return -1;
			score += 2;
		} else if (!match_member(want, req->segment[at], req->arena,
					 &ret->member[ret->n_members++], &score)) {
			return -1;
		}
	}
	return at == req->n_segments ? score : -1;
}

static void allow(struct buf *b, const char *method)
{
	if (strstr(buf_cstr(b), method))
		return;
	buf_printf(b, "%s%s", b->len ? ", " : "", method);
	if (streq(method, "GET"))
		buf_adds(b, ", HEAD");
}

bool route_find(const struct capability *const *table, const struct http_req *req,
		struct route *ret, struct err *e)
{
	const char *method = streq(req->method, "HEAD") ? "GET" : req->method;
	struct buf allowed;
	int best = -1;

	buf_init(&allowed, req->arena, 256);
	if (req->n_segments > API_SEGMENTS && streq(req->segment[0], "api") &&
	    streq(req->segment[1], "v1")) {
		for (; *table; table++) {
			struct route r;
			const int score = match(*table, req, &r);

			if (score < 0)
				continue;
			allow(&allowed, (*table)->method);
			if (streq((*table)->method, method) && score > best) {
				best = score;
				*ret = r;
			}
		}
	}
	if (best >= 0)
		return true;
	if (allowed.len) {
		err_set(e, ERR_METHOD_NOT_ALLOWED, "%s does not support %s", req->path,
			req->method);
		return err_field(e, "", req->method, buf_cstr(&allowed));
	}
	err_set(e, ERR_NO_SUCH_ROUTE, "There is no resource at %s", req->path);
	return err_fix(e, "GET /api/v1/openapi.json lists all resources.");
}
