#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/json/tree.h"
#include "fcgi/mcp.h"

/* Room for the closing sentence. */
enum { NOTE_MAX = 256 };

static struct str cut(struct str json, struct arena *a)
{
	size_t n = MCP_TEXT_MAX - NOTE_MAX;

	/* At a character border. */
	while (n > 0 && ((unsigned char)json.p[n] & 0xc0) == 0x80)
		n--;
	return str_of(arena_printf(a,
				   "%.*s … (cut: %zu of %zu bytes; ask with limit, or "
				   "read structuredContent)",
				   (int)n, json.p, n, json.n));
}

struct str mcp_text_of(struct str json, struct arena *a)
{
	struct err e = {0};
	const json_t *cursor;
	json_t *tree, *items;
	struct buf b;
	size_t i, len;
	json_t *item;

	if (json.n <= MCP_TEXT_MAX)
		return json;
	tree = json_parse(a, json, &e);
	items = tree ? json_at(tree, "items") : NULL;
	if (!items)
		return cut(json, a);
	buf_init(&b, a, LIMIT_CLOUD_BODY);
	buf_adds(&b, "{\"items\":[");
	json_array_foreach(items, i, item) {
		len = b.len;
		if (i)
			buf_addc(&b, ',');
		json_write_to(&b, item);
		if (b.len > MCP_TEXT_MAX - NOTE_MAX) {
			buf_truncate(&b, len);
			break;
		}
	}
	if (i == 0)
		return cut(json, a);
	cursor = json_object_get(tree, "next_cursor");
	buf_printf(&b,
		   "],\"truncated\":\"%zu of %zu items; structuredContent has all of "
		   "them, limit and cursor give smaller pages\",\"next_cursor\":%s}",
		   i, json_array_size(items),
		   json_is_string(cursor) ? json_text(a, cursor) : "null");
	return buf_str(&b);
}
