/*
 * pattern.h - a caller's regular expression, matched within a budget of time.
 *
 * PCRE2 backtracks: a pattern of 40 bytes can take minutes over one line, and its own
 * limits count anew at every position. So each item that is tried calls back, and the
 * budget, which is that of the whole request, ends the match wherever it is.
 *
 * Owns: the compiled pattern, until the arena's reset.
 * https://www.pcre.org/current/doc/html/pcre2callout.html
 */
#ifndef INSTANTSTART_BASE_PATTERN_H
#define INSTANTSTART_BASE_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/str.h"

struct pattern;

/* Processor time: lines may come slowly, and the machine may be busy. */
struct pattern_budget {
	int64_t left_ns;
	int64_t since_ns; /* of the match under way */
	unsigned steps;
};

enum pattern_result {
	PATTERN_NO,
	PATTERN_YES,
	/* Nobody knows: the budget is used up, or the match needs too much memory. */
	PATTERN_TOO_COSTLY
};

/* NULL when the text is no pattern: *ret_why says why, in the arena. */
struct pattern *pattern_compile(struct arena *a, const char *text, const char **ret_why);
/* Whether it is found anywhere in s, any bytes. */
enum pattern_result pattern_match(const struct pattern *p, struct str s,
				  struct pattern_budget *b);

#endif
