#include "core/base/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "core/base/str.h"

static const char *const level_names[] = {"debug", "info", "warn", "error"};

/* One line under construction; what does not fit is cut, never wrapped. */
struct line {
	char text[LIMIT_LOG_LINE];
	size_t len;
	bool cut;
};

/* Room for the mark of a cut line and its newline. */
enum { LINE_TAIL = 8 };

static void put(struct line *l, const char *p, size_t n)
{
	if (l->cut || n > sizeof(l->text) - LINE_TAIL - l->len) {
		l->cut = true;
		return;
	}
	memcpy(l->text + l->len, p, n);
	l->len += n;
}

static bool is_plain(unsigned char c)
{
	return c > ' ' && c < 0x7F && c != '"' && c != '=' && c != '\\';
}

/*
 * Quoted where needed. Control characters are escaped, and so is every byte of
 * a text that is no UTF-8: a log line never carries terminal commands.
 */
static void put_value(struct line *l, const char *z)
{
	const struct str s = str_of(z);
	bool utf8, plain = s.n > 0;

	for (size_t i = 0; i < s.n && plain; i++)
		plain = is_plain((unsigned char)z[i]);
	if (plain) {
		put(l, z, s.n);
		return;
	}
	utf8 = str_is_utf8(s);
	put(l, "\"", 1);
	for (size_t i = 0; i < s.n; i++) {
		const unsigned char c = (unsigned char)z[i];
		char hex[8];

		if (c == '"' || c == '\\') {
			put(l, "\\", 1);
			put(l, z + i, 1);
		} else if (c == '\n') {
			put(l, "\\n", 2);
		} else if (c == '\t') {
			put(l, "\\t", 2);
		} else if (c < 0x20 || c == 0x7F || (c >= 0x80 && !utf8)) {
			snprintf(hex, sizeof(hex), "\\x%02x", (unsigned)c);
			put(l, hex, 4);
		} else if (utf8 && c == 0xC2 && (unsigned char)z[i + 1] < 0xA0) {
			/* U+0080..U+009F: control characters of two bytes. */
			snprintf(hex, sizeof(hex), "\\x%02x", (unsigned char)z[++i]);
			put(l, hex, 4);
		} else {
			put(l, z + i, 1);
		}
	}
	put(l, "\"", 1);
}

static void put_pair(struct line *l, const char *key, const char *value)
{
	const size_t before = l->len;

	if (l->len > 0)
		put(l, " ", 1);
	put(l, key, strlen(key));
	put(l, "=", 1);
	put_value(l, value);
	/* A value that does not fit is left out whole: no half escapes. */
	if (l->cut)
		l->len = before;
}

enum log_level log_level_of(const char *name)
{
	for (int i = LOG_DEBUG; i <= LOG_ERROR; i++)
		if (streq(name, level_names[i]))
			return (enum log_level)i;
	return LOG_INFO;
}

void log_write(const struct log *l, enum log_level level, const char *event,
	       const struct log_kv *kv, size_t n)
{
	struct line line; /* not zeroed: it is large, and written every request */
	char text[TIME_TEXT];

	if (level < l->least)
		return;
	line.len = 0;
	line.cut = false;
	put_pair(&line, "ts", time_rfc3339(l->clock->wall_ms(l->clock), text));
	put_pair(&line, "level", level_names[level]);
	if (l->program)
		put_pair(&line, "prog", l->program);
	put_pair(&line, "ev", event);
	for (size_t i = 0; i < n; i++) {
		if (kv[i].is_num) {
			snprintf(text, sizeof(text), "%lld", (long long)kv[i].num);
			put_pair(&line, kv[i].key, text);
		} else if (kv[i].str) {
			put_pair(&line, kv[i].key, kv[i].str);
		}
	}
	if (line.cut) {
		memcpy(line.text + line.len, " cut=1", 6);
		line.len += 6;
	}
	line.text[line.len++] = '\n';
	/* One write a line: lines of several processes do not mix. A log that
	 * cannot be written must not stop the work. */
	if (write(l->fd, line.text, line.len) < 0)
		return;
}

void log_err(const struct log *l, const char *event, const struct err *e)
{
	struct log_kv kv[4 + 4 * ERR_CAUSES_MAX];
	char keys[ERR_CAUSES_MAX][4][40];
	size_t n = 0;

	kv[n++] = LOG_S("code", errc_info(e->code)->slug);
	kv[n++] = LOG_S("detail", e->detail);
	kv[n++] = LOG_S("field", e->field[0] ? e->field : NULL);
	kv[n++] = LOG_S("retry", retry_word_name(err_retry(e)));
	for (size_t i = 0; i < e->n_causes; i++) {
		const struct err_cause *c = &e->cause[i];
		const char *const names[] = {"source", "code", "message", "request"};
		const char *const values[] = {c->source, c->code, c->message,
					      c->request_id};

		for (size_t j = 0; j < 4; j++) {
			if (!values[j][0])
				continue;
			snprintf(keys[i][j], sizeof(keys[i][j]), "c%zu_%s", i, names[j]);
			kv[n++] = LOG_S(keys[i][j], values[j]);
		}
	}
	log_write(l, LOG_ERROR, event, kv, n);
}
