/*
 * face.h - what REST and MCP share on the way to capability_invoke().
 *
 * Two kinds of request must not hold a worker of the fast pool. They are
 * handed on by nginx (X-Accel-Redirect to a named location, which keeps method,
 * address and body), so that whoever takes them sees the original request:
 *
 *   @slow   a call that asks the cloud now: the slow pool carries it out
 *   @park   a call that waits: instantstart-live holds it until the operation
 *           has changed or the time is up and sends it back to @final, the fast
 *           pool with INSTANTSTART_PARKED set, for its answer
 */
#ifndef INSTANTSTART_FCGI_FACE_H
#define INSTANTSTART_FCGI_FACE_H

#include "fcgi/app.h"
#include "fcgi/auth.h"
#include "fcgi/http.h"

struct face_call {
	struct app *app;
	const struct http_req *req;
	const struct caller *who;
	const struct capability *cap;
	enum face face;
};

enum face_outcome {
	FACE_ANSWERED, /* reply is set */
	FACE_REFUSED,  /* e is set */
	FACE_HANDED_ON /* res is complete */
};

/*
 * all: merged input with call options. if_match and if_none_match may be NULL.
 */
enum face_outcome face_invoke(const struct face_call *f, const json_t *all,
			      const char *if_match, const char *if_none_match,
			      struct reply *reply, struct http_res *res, struct err *e);

/*
 * Gives the request at hand a place in the line of the slow pool and hands it on to
 * nginx's location `where`: one caller must not hold all slow workers, nor anybody wait
 * for what comes too late. ms: as long as it may take, its waiting included.
 */
bool face_join_line(struct app *app, const struct http_req *req, const struct caller *who,
		    int per_user, int64_t ms, const char *where, struct http_res *res,
		    struct err *e) __attribute__((warn_unused_result));
/*
 * In a slow worker: it has waited in line for too long, or for somebody who has given
 * up. A change is made all the same: who has sent it may only have lost the connection.
 */
bool face_comes_too_late(struct app *app, struct conn *conn, bool reads, int64_t ms,
			 struct err *e);
/* Monotonic: ms after the request at hand has arrived. */
int64_t face_until(const struct app *app, int64_t ms);
/*
 * All that is asked of the cloud for the request at hand ends by then, and when who
 * asked has gone.
 */
void face_limit(const struct app *app, struct conn *c, int64_t ms);
/* The role alone, as face_invoke() checks it as well: before a body is read. */
bool face_check_role(const struct face_call *f, struct err *e)
	__attribute__((warn_unused_result));
/* Records a change that was refused before it reached the capability. */
void face_audit(const struct face_call *f, const json_t *all, struct err *e);

#endif
