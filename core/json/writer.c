#include "core/json/writer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/tree.h"

void jw_begin(struct json_writer *w, struct buf *out)
{
	*w = (struct json_writer){.out = out};
}

/* Before every value: the comma, and the rule that members have names. */
static void before_value(struct json_writer *w)
{
	if (w->after_key) {
		w->after_key = false;
		return;
	}
	if (w->depth == 0)
		return;
	assert(w->kind[w->depth - 1] == '[');
	if (w->has_member[w->depth - 1])
		buf_addc(w->out, ',');
	w->has_member[w->depth - 1] = true;
}

static void open(struct json_writer *w, char kind)
{
	before_value(w);
	assert(w->depth < JSON_WRITER_DEPTH);
	w->kind[w->depth] = kind;
	w->has_member[w->depth] = false;
	w->depth++;
	buf_addc(w->out, kind);
}

void jw_open_object(struct json_writer *w)
{
	open(w, '{');
}

void jw_open_list(struct json_writer *w)
{
	open(w, '[');
}

void jw_close(struct json_writer *w)
{
	assert(w->depth > 0 && !w->after_key);
	w->depth--;
	buf_addc(w->out, w->kind[w->depth] == '{' ? '}' : ']');
}

void jw_end(struct json_writer *w)
{
	while (w->depth > 0)
		jw_close(w);
}

/*
 * Bytes that are no UTF-8 become U+FFFD: a log line of a pod may hold anything,
 * and an answer that is no JSON would hide all of it.
 */
static void write_string(struct buf *out, struct str s)
{
	buf_addc(out, '"');
	while (s.n > 0) {
		const unsigned char c = (unsigned char)*s.p;
		const size_t len = c == 0 ? 1 : str_utf8_sequence(s);
		const size_t step = len ? len : 1;

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c == '\n')
			buf_adds(out, "\\n");
		else if (c == '\t')
			buf_adds(out, "\\t");
		else if (c == '\r')
			buf_adds(out, "\\r");
		else if (c < 0x20)
			buf_printf(out, "\\u%04x", (unsigned)c);
		else if (len == 0)
			buf_adds(out, "\xEF\xBF\xBD");
		else
			buf_add(out, s.p, len);
		s.p += step;
		s.n -= step;
	}
	buf_addc(out, '"');
}

void jw_key(struct json_writer *w, const char *name)
{
	assert(w->depth > 0 && w->kind[w->depth - 1] == '{' && !w->after_key);
	if (w->has_member[w->depth - 1])
		buf_addc(w->out, ',');
	w->has_member[w->depth - 1] = true;
	write_string(w->out, str_of(name));
	buf_addc(w->out, ':');
	w->after_key = true;
}

void jw_strn(struct json_writer *w, const char *p, size_t n)
{
	before_value(w);
	write_string(w->out, (struct str){p, n});
}

void jw_str(struct json_writer *w, const char *z)
{
	if (z)
		jw_strn(w, z, strlen(z));
	else
		jw_null(w);
}

void jw_int(struct json_writer *w, int64_t v)
{
	before_value(w);
	buf_printf(w->out, "%lld", (long long)v);
}

void jw_num(struct json_writer *w, double v)
{
	char text[40];

	before_value(w);
	/* JSON has no infinities. */
	if (!isfinite(v)) {
		buf_adds(w->out, "null");
		return;
	}
	/* Short where that gives the same number back. */
	snprintf(text, sizeof(text), "%.15g", v);
	if (strtod(text, NULL) < v || strtod(text, NULL) > v)
		snprintf(text, sizeof(text), "%.17g", v);
	buf_adds(w->out, text);
}

void jw_bool(struct json_writer *w, bool v)
{
	before_value(w);
	buf_adds(w->out, v ? "true" : "false");
}

void jw_null(struct json_writer *w)
{
	before_value(w);
	buf_adds(w->out, "null");
}

void jw_tree(struct json_writer *w, const json_t *tree)
{
	before_value(w);
	json_write_to(w->out, tree);
}

void jw_raw(struct json_writer *w, const char *text, size_t n)
{
	before_value(w);
	buf_add(w->out, text, n);
}

void jw_kv_str(struct json_writer *w, const char *name, const char *z)
{
	if (!z)
		return;
	jw_key(w, name);
	jw_str(w, z);
}

void jw_kv_int(struct json_writer *w, const char *name, int64_t v)
{
	jw_key(w, name);
	jw_int(w, v);
}

void jw_kv_bool(struct json_writer *w, const char *name, bool v)
{
	jw_key(w, name);
	jw_bool(w, v);
}
