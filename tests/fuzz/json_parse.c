/* json_parse() with any bytes; what it takes must survive a round trip. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = {0};
	struct err e;
	const json_t *tree = json_parse(&a, (struct str){(const char *)data, size}, &e);

	if (tree) {
		const char *text = json_text(&a, tree);
		const json_t *again = json_parse(&a, str_of(text), &e);

		if (!again || strcmp(json_text(&a, again), text) != 0)
			abort();
		json_digest(&a, tree);
		json_str_at(tree, "a.0.b");
	} else if (e.code != ERR_MALFORMED || !e.detail[0] ||
		   !str_is_utf8(str_of(e.detail))) {
		abort();
	}
	arena_free(&a);
	return 0;
}
