#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"

static const struct errc_info table[ERR_COUNT_] = {
	[ERR_NONE] = {"none", 200, 0, RETRY_NEVER, "No error"},
#define E(name, slug, http, rpc, retry, title)                                           \
	[ERR_##name] = {slug, http, rpc, RETRY_##retry, title},
#include "core/base/errors.def"
#undef E
};

static const char *const fixes[ERR_COUNT_] = {
#define FIX(name, text) [ERR_##name] = text,
#include "core/base/fixes.def"
#undef FIX
};

const char *errc_fix(enum errc code)
{
	return (unsigned)code < ERR_COUNT_ && fixes[code] ? fixes[code] : "";
}

const struct errc_info *errc_info(enum errc code)
{
	return (unsigned)code < ERR_COUNT_ ? &table[code] : &table[ERR_INTERNAL];
}

bool errc_is_denial(enum errc code)
{
	return code == ERR_CLOUD_DENIED || code == ERR_CLOUD_FORBIDDEN ||
	       code == ERR_CLOUD_ACCOUNT;
}

enum errc errc_from_slug(const char *slug)
{
	for (int i = ERR_NONE + 1; i < ERR_COUNT_; i++)
		if (streq(table[i].slug, slug))
			return (enum errc)i;
	return ERR_NONE;
}

const char *retry_word_name(enum retry_word word)
{
	switch (word) {
	case RETRY_BACKOFF:
		return "backoff";
	case RETRY_SAME_KEY:
		return "same-key";
	case RETRY_OBSERVE_FIRST:
		return "observe-first";
	case RETRY_HUMAN:
		return "human";
	case RETRY_UNSET:
	case RETRY_NEVER:
		break;
	}
	return "never";
}

enum retry_word err_retry(const struct err *e)
{
	return e->retry != RETRY_UNSET ? e->retry : errc_info(e->code)->retry;
}

const char *err_fix_text(const struct err *e)
{
	if (e->fix[0])
		return e->fix;
	if (errc_fix(e->code)[0])
		return errc_fix(e->code);
	/* A code that does not ask for a person, at a place that does. */
	return err_retry(e) == RETRY_HUMAN
		       ? "Resolve the cause, then send the request again."
		       : "";
}

/* vsnprintf that cuts at a character border. */
__attribute__((format(printf, 3, 0))) static void print_cut(char *dst, size_t size,
							    const char *fmt, va_list ap)
{
	const int len = vsnprintf(dst, size, fmt, ap);
	size_t n;

	if (len < 0)
		dst[0] = '\0';
	if (len >= 0 && (size_t)len >= size) {
		/* Back to the first byte of the last character: is it whole? */
		n = size - 1;
		while (n > 0 && ((unsigned char)dst[n - 1] & 0xC0) == 0x80)
			n--;
		if (n > 0 && ((unsigned char)dst[n - 1] & 0xC0) == 0xC0 &&
		    !str_is_utf8((struct str){dst + n - 1, size - n}))
			dst[n - 1] = '\0';
	}
	str_make_utf8(dst);
}

static void copy(char *dst, size_t size, const char *src)
{
	str_copy(dst, size, src);
	str_make_utf8(dst);
}

bool(err_set)(struct err *e, enum errc code, const char *fmt, ...)
{
	va_list ap;
	struct err fresh = {.code = code};

	/* Printed before *e is cleared: the arguments may be parts of it. */
	va_start(ap, fmt);
	print_cut(fresh.detail, sizeof(fresh.detail), fmt, ap);
	va_end(ap);
	*e = fresh;
	return false;
}

void err_clear(struct err *e)
{
	*e = (struct err){.code = ERR_NONE};
}

bool(err_field)(struct err *e, const char *pointer, const char *seen,
		const char *expected)
{
	copy(e->field, sizeof(e->field), pointer);
	copy(e->seen, sizeof(e->seen), seen);
	copy(e->expected, sizeof(e->expected), expected);
	return false;
}

bool(err_fix)(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_cut(e->fix, sizeof(e->fix), fmt, ap);
	va_end(ap);
	return false;
}

bool(err_because)(struct err *e, const char *source, const char *code,
		  const char *message, const char *request_id)
{
	struct err_cause *c;

	if (e->n_causes >= ERR_CAUSES_MAX)
		return false;
	c = &e->cause[e->n_causes++];
	copy(c->source, sizeof(c->source), source);
	copy(c->code, sizeof(c->code), code);
	copy(c->message, sizeof(c->message), message);
	copy(c->request_id, sizeof(c->request_id), request_id);
	return false;
}
