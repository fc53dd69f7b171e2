/* What an operation has come to, as text that is the same for equal ends. */
#include <stdlib.h>
#include <string.h>

#include "tests/faults/harness.h"

enum { DRAWN = 8, UUID = 36, SIGNATURE_MAX = 8 * 1024 * 1024 };

static void blot(char *p, size_t n)
{
	memset(p, '~', n);
}

static bool is_uuid(const char *p, size_t n)
{
	return n == DRAWN && strspn(p, "0123456789abcdef-") >= UUID;
}

/*
 * Ids that the world has drawn (eight hexadecimal digits or more), ids of
 * operations, and times.
 */
static void blot_ids(char *text)
{
	static const char hex[] = "0123456789abcdefABCDEF";
	static const char base32[] = "0123456789abcdefghijklmnopqrstuvwxyz";

	for (char *p = text; *p; p++) {
		size_t n = strspn(p, hex);

		if (strncmp(p, "op_", 3) == 0 && strspn(p + 3, base32) == 26) {
			blot(p + 3, 26);
			p += 28;
		} else if (n == 4 && p[4] == '-' && p[7] == '-' && p[10] == 'T') {
			blot(p, strcspn(p, "Z\"\n"));
		} else if (is_uuid(p, n)) {
			blot(p, UUID);
			p += UUID - 1;
		} else if (n >= DRAWN) {
			blot(p, n);
			p += n - 1;
		} else if (n > 0) {
			p += n - 1;
		}
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void harness_sort_lines(struct harness *h, const char **line, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		char *copy = arena_strdup(&h->run, line[i]);

		blot_ids(copy);
		line[i] = copy;
	}
	qsort(line, n, sizeof(*line), by_text);
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s\n", line[i]);
}

const char *harness_signature(struct harness *h)
{
	const struct db_rows rows = harness_query(
		h,
		"select string_agg(kind || ' ' || coalesce(stage, '') || ' ' || state || ' ' || "
		"coalesce(result::text, ''), '; ' order by kind, stage) as ops, "
		"(select string_agg(type || ' ' || state, ', ' order by type, state) from resource "
		"where state <> 'gone') as owned from operation where root_id = $1",
		h->op);
	struct buf b;
	char *p;

	buf_init(&b, &h->run, SIGNATURE_MAX);
	buf_printf(&b, "%s\nowned: %s\n", rows.n ? db_text(&rows, 0, "ops") : "",
		   rows.n && db_text(&rows, 0, "owned") ? db_text(&rows, 0, "owned")
							: "");
	h->world->describe(h, &b);
	p = arena_strdup(&h->run, buf_cstr(&b));
	for (char *at = strstr(p, h->target); at; at = strstr(at, h->target))
		memset(at, '#', strlen(h->target));
	blot_ids(p);
	return p;
}
