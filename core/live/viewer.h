/*
 * viewer.h - one WebSocket connection and what it may see.
 *
 * What a connection gets is a grant: a JSON object that the FastCGI program has
 * made for it after it has looked at who is calling; nginx carries it over in
 * X-Live. Nothing that the caller sent is interpreted here.
 *
 *   {"user", "session", "api", "feed": "events" | "logs", "target", "namespace",
 *    "pod", "container", "previous", "tail", "epoch", "after", "time"}
 *   {"refuse": 4403, "why": "…"}
 *
 * A session or token that ends, ends its connections within seconds.
 */
#ifndef INSTANTSTART_LIVE_VIEWER_H
#define INSTANTSTART_LIVE_VIEWER_H

#include <stdbool.h>

#include "core/live/counters.h"
#include "core/live/events.h"
#include "core/live/stream.h"

enum {
	VIEWERS_MAX = 4000,
	VIEWER_USER_MAX = 128,
	VIEWER_SESSION_MAX = 72,
	VIEWER_CHECK_MS = 3000,
	VIEWER_GRANT_MAX = 4096
};

struct viewer;

/* Everybody who is connected. */
struct viewers {
	struct streams *streams;
	struct events *events;
	struct db *db;
	struct loop *loop;
	struct counters *counters;
	int64_t per_user;
	/* Lets the connection be written to. */
	void (*wake)(struct viewer *v);
	struct viewer *first;
	size_t n;
	bool draining;
	struct loop_timer check;
	struct frame frame; /* the last message made; shared by all */
};

struct viewer {
	struct reader reader; /* first */
	struct viewers *all;
	struct viewer *next, *prev;
	void *connection;
	bool linked, api, logs;
	char user[VIEWER_USER_MAX];
	char session[VIEWER_SESSION_MAX];
	int close_code; /* set: closed instead of written to */
	char close_why[FEED_WHY_MAX];
};

/* streams, events, db, loop, counters, per_user and wake are set. */
void viewers_start(struct viewers *all);
/* Everybody is sent away: 1001. */
void viewers_drain(struct viewers *all);

/* v is all zeroes but for `connection`. A bad grant closes it. */
void viewer_open(struct viewers *all, struct viewer *v, const char *grant);
void viewer_close(struct viewer *v);
void viewer_refuse(struct viewer *v, int code, const char *why);
/* The next message in all->frame, or that it is to be closed. */
enum feed_next viewer_take(struct viewer *v);
bool viewer_has_more(const struct viewer *v);

#endif
