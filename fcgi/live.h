/*
 * live.h - may this WebSocket be opened, and what may it see.
 *
 * nginx asks by a sub-request (auth_request) before it connects to
 * instantstart-live; the answer's X-Live header is the grant that goes with the
 * connection: see core/live/viewer.h. A foreign Host or Origin is refused with
 * 403, and no connection is made. Everything else is told in the grant: only a
 * WebSocket that was opened can tell a browser why it is closed.
 *
 *   /ws/events   fast pool
 *   /ws/logs     slow pool, by a place in its line: the cluster's address may have to
 *                be read
 */
#ifndef INSTANTSTART_FCGI_LIVE_H
#define INSTANTSTART_FCGI_LIVE_H

#include "fcgi/app.h"
#include "fcgi/auth.h"
#include "fcgi/http.h"

/* *ret_who is filled for the log. */
void live_authorise(struct app *app, const struct http_req *req, struct caller *ret_who,
		    struct http_res *res);

#endif
