/*
 * json_packf(): as jansson's json_pack(), but total over its texts.
 *
 * jansson refuses a text that is no UTF-8, and a tree that cannot be made ends the
 * process; texts of libraries, proxies and containers hold any bytes. Here such
 * bytes become U+FFFD.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/json/tree.h"

json_t *json_of_text(struct str s)
{
	struct str rest = s;
	struct arena a;
	struct buf b;
	json_t *ret = json_stringn(s.n ? s.p : "", s.n);

	if (ret)
		return ret;
	arena_init(&a, s.n * 16 + LIMIT_LOG_LINE);
	buf_init(&b, &a, s.n * 3);
	while (rest.n > 0) {
		const size_t len = *rest.p ? str_utf8_sequence(rest) : 1;

		if (len)
			buf_add(&b, rest.p, len);
		else
			buf_adds(&b, "\xEF\xBF\xBD");
		rest.p += len ? len : 1;
		rest.n -= len ? len : 1;
	}
	ret = json_stringn(buf_cstr(&b), b.len);
	arena_free(&a);
	return ret;
}

struct pack {
	const char *at;
	const char *fmt;
	va_list ap;
};

/* A wrong format is a bug of the caller; its text says which. */
static _Noreturn void refuse(const struct pack *p, const char *why)
{
	fprintf(stderr, "json_packf: \"%s\": %s at \"%s\"\n", p->fmt, why, p->at);
	abort();
}

static char next(struct pack *p)
{
	while (*p->at == ' ' || *p->at == ',' || *p->at == ':' || *p->at == '\n' ||
	       *p->at == '\t')
		p->at++;
	return *p->at ? *p->at++ : '\0';
}

/* '?': null stands for nothing; '*': the member is left out; 0: it must be there. */
static char option(struct pack *p)
{
	return *p->at == '?' || *p->at == '*' ? *p->at++ : '\0';
}

/* NULL: an optional text that is not there. */
static const char *text(struct pack *p, size_t *ret_n)
{
	const char *z = va_arg(p->ap, const char *);

	if (*p->at == '#') {
		p->at++;
		*ret_n = (size_t)va_arg(p->ap, int);
	} else if (*p->at == '%') {
		p->at++;
		*ret_n = va_arg(p->ap, size_t);
	} else {
		*ret_n = z ? strlen(z) : 0;
	}
	return z;
}

static json_t *nothing(struct pack *p, char how)
{
	if (how == '\0')
		refuse(p, "NULL");
	return how == '?' ? json_null() : NULL;
}

static json_t *value(struct pack *p, char c);

static json_t *object(struct pack *p)
{
	json_t *o = json_object();

	for (char c = next(p); c != '}'; c = next(p)) {
		size_t n;
		const char *name;
		json_t *v;

		if (c != 's')
			refuse(p, "a member has no name");
		name = text(p, &n);
		if (!name)
			refuse(p, "NULL for a name");
		v = value(p, next(p));
		if (!v)
			continue;
		/* Names are ours, or came in as members of a checked tree. */
		if (json_object_setn_new(o, name, n, v) != 0)
			refuse(p, "a name is no UTF-8");
	}
	return o;
}

static json_t *list(struct pack *p)
{
	json_t *l = json_array();

	for (char c = next(p); c != ']'; c = next(p)) {
		json_t *v = value(p, c);

		if (v)
			json_array_append_new(l, v);
	}
	return l;
}

static json_t *packed_text(struct pack *p)
{
	size_t n;
	const char *z = text(p, &n);
	const char how = option(p);

	return z ? json_of_text((struct str){z, n}) : nothing(p, how);
}

static json_t *tree(struct pack *p, bool steal)
{
	json_t *t = va_arg(p->ap, json_t *);
	const char how = option(p);

	if (!t)
		return nothing(p, how);
	return steal ? t : json_incref(t);
}

static json_t *value(struct pack *p, char c)
{
	switch (c) {
	case '{':
		return object(p);
	case '[':
		return list(p);
	case 's':
		return packed_text(p);
	case 'o':
		return tree(p, true);
	case 'O':
		return tree(p, false);
	case 'n':
		return json_null();
	case 'b':
		return json_boolean(va_arg(p->ap, int));
	case 'i':
		return json_integer(va_arg(p->ap, int));
	case 'I':
		return json_integer(va_arg(p->ap, json_int_t));
	case 'f':
		return json_real(va_arg(p->ap, double));
	default:
		refuse(p, "no such format");
	}
}

json_t *json_packf(struct arena *a, const char *fmt, ...)
{
	struct pack p = {.at = fmt, .fmt = fmt};
	json_t *ret;

	va_start(p.ap, fmt);
	ret = value(&p, next(&p));
	va_end(p.ap);
	if (next(&p) != '\0')
		refuse(&p, "something follows");
	return json_own(a, ret);
}
