/*
 * log.h - structured logs: one logfmt line an event, on standard error.
 *
 *   ts=… level=info ev=settle op=op_01… step=create_stack ms=41
 *
 * Only the programs' main files, the request loop and the runner log. Values
 * are quoted where needed, control characters are escaped, lines are capped.
 * Secrets never get here: they are a type without a printer (see secret.h).
 */
#ifndef INSTANTSTART_BASE_LOG_H
#define INSTANTSTART_BASE_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/base/err.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* "debug", "info", "warn", "error"; LOG_INFO for anything else. */
enum log_level log_level_of(const char *name);

struct log {
	int fd; /* 2 in the programs */
	enum log_level least;
	struct clock *clock;
	const char *program;
};

/* One key and its value; a NULL string is left out of the line. */
struct log_kv {
	const char *key;
	const char *str;
	int64_t num;
	unsigned char is_num;
};
#define LOG_S(k, v) ((struct log_kv){.key = (k), .str = (v)})
#define LOG_N(k, v) ((struct log_kv){.key = (k), .num = (v), .is_num = 1})

void log_write(const struct log *l, enum log_level level, const char *event,
	       const struct log_kv *kv, size_t n);
/* level error; code, detail and the causes of e. */
void log_err(const struct log *l, const char *event, const struct err *e);

/* log_info(l, "event", LOG_S(k, v), …): any number of pairs, also none; the
 * closing empty pair, which is not written, is what ISO C asks for then. */
#define log_at(l, level, ...) log_at_((l), (level), __VA_ARGS__, LOG_S(NULL, NULL))
#define log_at_(l, level, event, ...)                                                    \
	log_write((l), (level), (event), (struct log_kv[]){__VA_ARGS__},                 \
		  sizeof((struct log_kv[]){__VA_ARGS__}) / sizeof(struct log_kv))
#define log_debug(l, ...) log_at(l, LOG_DEBUG, __VA_ARGS__)
#define log_info(l, ...)  log_at(l, LOG_INFO, __VA_ARGS__)
#define log_warn(l, ...)  log_at(l, LOG_WARN, __VA_ARGS__)

#endif
