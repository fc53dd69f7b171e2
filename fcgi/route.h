/*
 * route.h - from method and path to a capability.
 *
 * A path of the table is "/operations/{id}:retry": segments that are literal,
 * or a member, or a member with a verb behind it. It stands below /api/v1.
 */
#ifndef INSTANTSTART_FCGI_ROUTE_H
#define INSTANTSTART_FCGI_ROUTE_H

#include "core/domain/capability.h"
#include "fcgi/http.h"

struct route {
	const struct capability *cap;
	struct http_pair member[HTTP_SEGMENTS_MAX]; /* of the path, decoded */
	size_t n_members;
};

/* NO_SUCH_ROUTE, or METHOD_NOT_ALLOWED with the allowed ones as `expected`. */
bool route_find(const struct capability *const *table, const struct http_req *req,
		struct route *ret, struct err *e) __attribute__((warn_unused_result));

#endif
