/* A watch stream of any bytes, in pieces of any size. */
#include <stdint.h>
#include <stdlib.h>

#include "core/json/tree.h"
#include "core/kube/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	size_t changes, lines, bytes;
};

static bool on_change(void *ctx, enum kube_change change, const json_t *object)
{
	struct seen *s = ctx;

	if (change > KUBE_DELETED || !json_str_at(object, "metadata.resourceVersion"))
		abort();
	s->changes++;
	return true;
}

static bool on_line(void *ctx, const char *p, size_t n, bool cut)
{
	struct seen *s = ctx;

	if (n > 16 || (cut && n != 16) || (n > 0 && !p))
		abort();
	s->lines++;
	s->bytes += n;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const size_t piece = size > 0 ? data[0] % 32 + 1 : 1;
	struct seen whole = {0};
	struct seen cut = {0};
	struct kube_lines lines;
	struct kube_watch watch;
	struct arena a = {0};

	arena_init(&a, 0);
	kube_watch_init(&watch, &a, on_change, &whole);
	kube_watch_start(&watch, "1");
	for (size_t at = 0; at < size; at += piece) {
		if (!kube_watch_feed(&watch, text + at,
				     size - at < piece ? size - at : piece))
			break;
	}
	kube_watch_finish(&watch, 200);
	kube_watch_free(&watch);
	/* However the stream is cut, the lines are the same. */
	whole = (struct seen){0};
	kube_lines_init(&lines, &a, 16, on_line, &whole);
	if (!kube_lines_feed(&lines, text, size) || !kube_lines_end(&lines))
		abort();
	kube_lines_init(&lines, &a, 16, on_line, &cut);
	for (size_t at = 0; at < size; at += piece)
		kube_lines_feed(&lines, text + at, size - at < piece ? size - at : piece);
	kube_lines_end(&lines);
	if (whole.lines != cut.lines || whole.bytes != cut.bytes)
		abort();
	arena_free(&a);
	return 0;
}
