#include <string.h>

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
				   "%.*s … (cut: %zu of %zu bytes. Use limit, or read "
				   "structuredContent)",
				   (int)n, json.p, n, json.n));
}

/* Behind the text that begins at p: its closing quote. */
static const char *past_text(const char *p)
{
	for (p++; *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p + 1;
}

static const char *past_blanks(const char *p)
{
	while (*p == ' ' || *p == '\n' || *p == '\t')
		p++;
	return p;
}

/* Takes back the member whose name begins at `name`; p is behind its null. With it
 * goes the comma behind it, or else the one before. */
static const char *take_back(char **to, char *name, const char *p)
{
	*to = name;
	p = past_blanks(p);
	if (*p == ',')
		return past_blanks(p + 1);
	while ((*to)[-1] == ' ' || (*to)[-1] == ',')
		--*to;
	return p;
}

struct str mcp_without_nulls(struct str json, struct arena *a)
{
	const char *p = str_dup(a, json);
	char *out = arena_alloc(a, json.n + 1), *to = out, *name = out;
	char before = 0; /* the last character that was no blank */

	while (*p) {
		const char *next = *p == '"' ? past_text(p) : p + 1;

		if (*p == 'n' && before == ':') {
			p = take_back(&to, name, p + strlen("null"));
			before = 0;
			continue;
		}
		if (*p == '"')
			name = to; /* or a value's text, which no colon follows */
		if (*p != ' ')
			before = *p;
		memcpy(to, p, (size_t)(next - p));
		to += next - p;
		p = next;
	}
	*to = '\0';
	return (struct str){out, (size_t)(to - out)};
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
		   "],\"truncated\":\"%zu of %zu items. structuredContent has all of "
		   "them. Use limit and cursor for smaller pages\"%s%s}",
		   i, json_array_size(items), cursor ? ",\"next_cursor\":" : "",
		   cursor ? json_text(a, cursor) : "");
	return buf_str(&b);
}
