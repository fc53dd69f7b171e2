/*
 * rest.h - /api/v1: an address and a body become a capability's input.
 */
#ifndef INSTANTSTART_FCGI_REST_H
#define INSTANTSTART_FCGI_REST_H

#include "fcgi/app.h"
#include "fcgi/auth.h"
#include "fcgi/http.h"

void rest_serve(struct app *app, const struct http_req *req, const struct caller *who,
		struct http_res *res);

#endif
