/*
 * err.h - errors as values with a cause.
 *
 * A fallible function returns bool or a pointer and fills the struct err that
 * its last parameter points to, once, at the source. Callers hand it on; they
 * may add a cause or a hint, never reword. Library code does not log errors.
 *
 * A struct err is plain memory of fixed size: nobody frees it, it can be copied.
 * Longer texts are cut at a character border; bytes that are no UTF-8 become '?'.
 */
#ifndef INSTANTSTART_BASE_ERR_H
#define INSTANTSTART_BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>

enum errc {
	ERR_NONE,
#define E(name, slug, http, rpc, retry, title) ERR_##name,
#include "core/base/errors.def"
#undef E
	ERR_COUNT_
};

/* Whether and how a failed request may be repeated. */
enum retry_word {
	RETRY_UNSET, /* take what errors.def says of the code */
	RETRY_NEVER,
	RETRY_BACKOFF,
	RETRY_SAME_KEY,
	RETRY_OBSERVE_FIRST,
	RETRY_HUMAN
};

struct errc_info {
	const char *slug;
	int http_status;
	int jsonrpc_code; /* 0: an isError result, not a protocol error */
	enum retry_word retry;
	const char *title;
};

/* What the cloud, the database or a library said, kept word for word. */
struct err_cause {
	char source[48]; /* "eks:CreateCluster", "postgresql", "kubernetes" */
	char code[64];
	char message[320];
	char request_id[80];
};

/* One refused value. All of an input's violations are reported at once. */
struct violation {
	char field[128]; /* JSON pointer */
	char detail[192];
	char seen[96];
	char expected[160];
};

enum { ERR_CAUSES_MAX = 4 };

struct err {
	enum errc code;
	enum retry_word retry; /* RETRY_UNSET: by code */
	char detail[512];
	char field[128]; /* JSON pointer, or empty */
	char seen[128];
	char expected[256];
	char fix[384];
	size_t n_causes;
	struct err_cause cause[ERR_CAUSES_MAX]; /* nearest first */
	/* Borrowed from the unit's arena; empty unless the input was refused. */
	const struct violation *violations;
	size_t n_violations;
};

const struct errc_info *errc_info(enum errc code);
/* What helps in general, from fixes.def; "" when nothing can be said. */
const char *errc_fix(enum errc code);
/* Somebody must allow it: our role lacks a permission, a policy above it denies, or the
 * account may not. */
bool errc_is_denial(enum errc code);
/* ERR_NONE when no code has that slug. */
enum errc errc_from_slug(const char *slug);
/* "never", "backoff", "same-key", "observe-first", "human". */
const char *retry_word_name(enum retry_word word);
enum retry_word err_retry(const struct err *e);
/* What to do: the error's own words, else those of its code. Never empty where
 * err_retry() says RETRY_HUMAN. */
const char *err_fix_text(const struct err *e);

/* Sets code and detail and clears the rest. Always returns false. */
bool err_set(struct err *e, enum errc code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void err_clear(struct err *e);

/* Details, each optional; they return false so that `return err_fix(…)` reads. */
bool err_field(struct err *e, const char *pointer, const char *seen,
	       const char *expected);
bool err_fix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends a cause; the fifth and later ones are dropped. NULL texts are empty. */
bool err_because(struct err *e, const char *source, const char *code, const char *message,
		 const char *request_id);

/*
 * All of these return false, and here the compiler and the analysers can see
 * it: what a caller does with `return err_set(…)` is then followed as it runs.
 */
static inline bool err_false_(void)
{
	return false;
}
#define err_set(...)     ((void)(err_set)(__VA_ARGS__), err_false_())
#define err_field(...)   ((void)(err_field)(__VA_ARGS__), err_false_())
#define err_fix(...)     ((void)(err_fix)(__VA_ARGS__), err_false_())
#define err_because(...) ((void)(err_because)(__VA_ARGS__), err_false_())

#endif
