/*
 * writer.h - JSON text that cannot come out unbalanced.
 *
 * Writes into a struct buf. Commas, quotes and escapes are the writer's work;
 * jw_end() closes whatever is still open. Misuse (a value without a key in
 * an object) is a bug and asserts.
 */
#ifndef INSTANTSTART_JSON_WRITER_H
#define INSTANTSTART_JSON_WRITER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"

enum { JSON_WRITER_DEPTH = 64 };

struct json_writer {
	struct buf *out;
	int depth;
	char kind[JSON_WRITER_DEPTH]; /* '{' or '[' */
	bool has_member[JSON_WRITER_DEPTH];
	bool after_key;
};

void jw_begin(struct json_writer *w, struct buf *out);
void jw_open_object(struct json_writer *w);
void jw_open_list(struct json_writer *w);
void jw_close(struct json_writer *w); /* the innermost */
void jw_end(struct json_writer *w);   /* all of them */
void jw_key(struct json_writer *w, const char *name);
void jw_str(struct json_writer *w, const char *z); /* NULL writes null */
void jw_strn(struct json_writer *w, const char *p, size_t n);
void jw_int(struct json_writer *w, int64_t v);
void jw_num(struct json_writer *w, double v);
void jw_bool(struct json_writer *w, bool v);
void jw_null(struct json_writer *w);
void jw_tree(struct json_writer *w, const json_t *tree);
/* Text that is JSON already, as PostgreSQL gives it. */
void jw_raw(struct json_writer *w, const char *text, size_t n);
/* key and value in one call; a NULL string writes no member. */
void jw_kv_str(struct json_writer *w, const char *name, const char *z);
void jw_kv_int(struct json_writer *w, const char *name, int64_t v);
void jw_kv_bool(struct json_writer *w, const char *name, bool v);

#endif
