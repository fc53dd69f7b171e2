/*
 * feed.h - one numbered stream and everybody who reads it. Pure.
 *
 * A feed holds recent texts (ring.h) and, between them, marks: gaps and changes
 * of state. A reader is a position in it and nothing more: there is no queue a
 * reader, so a slow one costs no memory and holds nobody up. When the ring has
 * overtaken it, it is told how much it missed and goes on near the end.
 *
 * Numbers are the resume contract: who comes back with the feed's epoch and the
 * last number it has seen gets what followed, once.
 */
#ifndef INSTANTSTART_LIVE_FEED_H
#define INSTANTSTART_LIVE_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/live/line.h"
#include "core/live/ring.h"

enum {
	FEED_EPOCH_MAX = 40,
	FEED_MARKS = 64,
	FEED_MARK_MAX = 400,
	FEED_WHY_MAX = 120,         /* a close frame holds 123 bytes */
	FEED_FRAME_MAX = 64 * 1024, /* of one message */
	FEED_FRAME_PRE = 32         /* room before it, for the WebSocket header */
};

enum feed_kind {
	FEED_LINES, /* texts are members of a `lines` frame: many a message */
	FEED_EVENTS /* a text is the rest of a frame behind its seq: one a message */
};

struct feed_mark {
	int64_t at;               /* stands before the text of this number */
	char type[8];             /* "gap", "state" */
	char rest[FEED_MARK_MAX]; /* members behind seq, with the closing brace */
};

struct reader;

struct feed {
	enum feed_kind kind;
	uint64_t serial; /* no two feeds of a process have the same */
	char epoch[FEED_EPOCH_MAX];
	struct ring ring;
	struct feed_mark mark[FEED_MARKS]; /* circular by number */
	uint64_t n_marks;                  /* ever made */
	/* Numbers are final: readers are greeted. */
	bool ready;
	char hello[FEED_MARK_MAX]; /* further members, each with a leading comma */
	/* Set: no text comes any more, who has read all is closed. */
	int close_code;
	char close_why[FEED_WHY_MAX];
	struct reader *first;
	size_t n_readers;
};

struct reader {
	struct reader *next_reader, *prev_reader;
	struct feed *feed;
	void (*wake)(struct reader *r);
	/* What it asked for. */
	int64_t tail, after; /* after < 0: it does not come back */
	char epoch[FEED_EPOCH_MAX];
	char time[LINE_TIME_MAX]; /* of the last line seen, or "" */
	/* Where it is. */
	int64_t next;
	uint64_t mark;
	bool greeted, lost;
	int64_t missed;                  /* with lost; < 0: not known */
	const char *lost_why;            /* with lost */
	int64_t slow_times, slow_missed; /* overtaken; for whoever counts */
};

/* A message, made for one reader and kept for others at the same place. */
struct frame {
	uint64_t serial;
	int64_t from, limit, to;
	size_t n;
	char pre[FEED_FRAME_PRE];
	char text[FEED_FRAME_MAX];
};

enum feed_next { FEED_NOTHING, FEED_FRAME, FEED_CLOSE };

/* serial: above 0, and of this feed alone. */
void feed_init(struct feed *f, struct arena *a, enum feed_kind kind, uint64_t serial,
	       uint32_t bytes, uint32_t texts, const char *epoch, int64_t first);
int64_t feed_add(struct feed *f, struct str text);
/* rest: printf of JSON members behind seq, with the closing brace. */
void feed_mark(struct feed *f, const char *type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* why: "upstream", "rotation", "buffer"; missed < 0: not known. */
void feed_gap(struct feed *f, const char *why, int64_t missed);
void feed_close(struct feed *f, int code, const char *why);
/* Before it is ready: all numbers, those of marks too. */
void feed_renumber(struct feed *f, int64_t by);

void feed_join(struct feed *f, struct reader *r);
void feed_leave(struct reader *r);
/* Something is to be had, or the end. */
void feed_wake(struct feed *f);

/* The next message of a reader in *out, when there is one. */
enum feed_next reader_take(struct reader *r, struct frame *out);
/* Whether reader_take() would give anything. */
bool reader_has_more(const struct reader *r);

#endif
