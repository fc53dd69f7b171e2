#include "core/base/mask.h"

#include <string.h>

#include "core/base/mask_shape.h"

enum {
	SPANS_MAX = 64,
	DEPTH_MAX = 3,     /* views of views */
	KNOWN_LEAST = 8,   /* bytes of a value that is worth looking for */
	BASE64_LEAST = 24, /* letters of a run that is decoded */
	BASE64_STARTS = 8, /* a path before it may be glued to it */
	PROBE = 16,        /* letters that show whether it is text */
	KEY_LINES = 120,   /* of a private key */
	BODY_LEAST = 60,
	BODY_MOST = 76, /* of a line of its body */
};

struct span {
	size_t from, to;
};

struct search {
	struct arena *arena;
	const struct mask_known *known;
	bool cut, open_key;
	size_t n;
	struct span v[SPANS_MAX];
};

/* A text to look at, and where each of its bytes stands in the one before it. */
struct view {
	struct str text;
	const size_t *map; /* n + 1 of them; NULL: as it is */
	struct search *search;
	int depth;
};

void mask_know(struct mask_known *k, struct secret s)
{
	if (secret_reveal(s) && k->n < MASK_KNOWN_MAX)
		k->v[k->n++] = s;
}

static void add_span(void *ctx, size_t from, size_t to)
{
	const struct view *v = ctx;
	struct search *s = v->search;

	if (v->map) {
		from = v->map[from];
		to = v->map[to];
	}
	if (from >= to)
		return;
	/* Too many to be told apart: all that follows is masked. */
	if (s->n == SPANS_MAX) {
		for (size_t i = 0; i < s->n; i++)
			if (s->v[i].from < from)
				from = s->v[i].from;
		s->n = 0;
		to = SIZE_MAX;
	}
	s->v[s->n++] = (struct span){from, to};
}

static void look(struct view *v);

/* --- base64 --------------------------------------------------------------------------
 */

static int value_of(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : 63;
}

static size_t decode(const char *p, size_t n, char *out)
{
	size_t len = 0;
	unsigned bits = 0;

	for (size_t i = 0; i < n; i++) {
		bits = bits << 6 | (unsigned)value_of((unsigned char)p[i]);
		if (i % 4)
			out[len++] = (char)(bits >> (6 - 2 * (i % 4)));
	}
	return len;
}

static bool is_text(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)p[i] < ' ' && !strchr("\t\r\n", p[i]))
			return false;
		else if ((unsigned char)p[i] > 126)
			return false;
	return n > 0;
}

/* Whether these letters, decoded, hold a secret. */
static bool hides(struct view *v, struct str letters)
{
	char probe[PROBE];
	struct search inner = {.arena = v->search->arena,
			       .known = v->search->known,
			       .cut = v->search->cut};
	struct view decoded = {.search = &inner, .depth = v->depth + 1};
	char *out;

	if (letters.n < BASE64_LEAST || !is_text(probe, decode(letters.p, PROBE, probe)))
		return false;
	out = arena_alloc(v->search->arena, letters.n);
	decoded.text = (struct str){out, decode(letters.p, letters.n, out)};
	look(&decoded);
	return inner.n > 0;
}

static void look_into_run(struct view *v, size_t from, size_t to)
{
	size_t padded = to;
	int starts = 0;

	while (padded < v->text.n && v->text.p[padded] == '=' && padded < to + 2)
		padded++;
	for (size_t at = from; at < to && starts < BASE64_STARTS; at++) {
		if (at > from && !strchr("/-_+", v->text.p[at - 1]))
			continue;
		starts++;
		if (!hides(v, (struct str){v->text.p + at, to - at}))
			continue;
		add_span(v, at, padded);
		return;
	}
}

static void look_into_base64(struct view *v)
{
	const struct str s = v->text;

	for (size_t at = 0; at < s.n;) {
		const size_t from = at;

		while (at < s.n && mask_is_base64((unsigned char)s.p[at]))
			at++;
		if (at - from >= BASE64_LEAST)
			look_into_run(v, from, at);
		else if (at == from)
			at++;
	}
}

/* --- views ----------------------------------------------------------------------------
 */

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* n hexadecimal digits; -1: there are none. */
static int hex_at(struct str s, size_t at, size_t n)
{
	int value = 0;

	if (at + n > s.n)
		return -1;
	for (size_t i = at; i < at + n; i++) {
		const int digit = hex_of(s.p[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

/* Each reads one character at `at`, and returns how many bytes it takes; *ret < 0: it
 * stands for none. */
typedef size_t reader(struct str s, size_t at, int *ret);

static size_t read_escaped(struct str s, size_t at, int *ret)
{
	static const char names[] = "nrtbf0";
	static const char values[] = "\n\r\t\b\f";
	const char *name;
	char c;

	*ret = (unsigned char)s.p[at];
	if (s.p[at] != '\\' || at + 1 == s.n)
		return 1;
	c = s.p[at + 1];
	if ((c == 'u' || c == 'x') && hex_at(s, at + 2, c == 'u' ? 4 : 2) >= 0) {
		*ret = hex_at(s, at + 2, c == 'u' ? 4 : 2);
		*ret = *ret < 128 ? *ret : '?';
		return c == 'u' ? 6 : 4;
	}
	name = strchr(names, c);
	*ret = name && c ? values[name - names] : (unsigned char)c;
	return 2;
}

static size_t read_percent(struct str s, size_t at, int *ret)
{
	const int value = s.p[at] == '%' ? hex_at(s, at + 1, 2) : -1;

	*ret = value >= 0 ? value : (unsigned char)s.p[at];
	return value >= 0 ? 3 : 1;
}

/* Without colours and control characters, as it will be shown. */
static size_t read_shown(struct str s, size_t at, int *ret)
{
	const unsigned char c = (unsigned char)s.p[at];
	size_t n = 2;

	*ret = c;
	if ((c >= ' ' && c != 0x7f) || c == '\t' || c == '\n')
		return 1;
	*ret = -1;
	if (c != 0x1b || at + 1 == s.n || s.p[at + 1] != '[')
		return 1;
	while (at + n < s.n && !(s.p[at + n] >= '@' && s.p[at + n] <= '~'))
		n++;
	return at + n < s.n ? n + 1 : n;
}

static void look_as(struct view *v, reader *read)
{
	struct arena *a = v->search->arena;
	const size_t n = v->text.n;
	size_t *map = arena_array(a, size_t, n + 1);
	char *out = arena_alloc(a, n + 1);
	struct view next = {.search = v->search, .depth = v->depth + 1, .map = map};
	size_t len = 0;

	for (size_t at = 0; at < n;) {
		int c;
		const size_t used = read(v->text, at, &c);

		map[len] = v->map ? v->map[at] : at;
		if (c >= 0)
			out[len++] = (char)c;
		at += used;
	}
	map[len] = v->map ? v->map[n] : n;
	next.text = (struct str){out, len};
	if (len < n)
		look(&next);
}

static bool has_controls(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t' && s.p[i] != '\n') ||
		    s.p[i] == 0x7f)
			return true;
	return false;
}

static void look_for_known(struct view *v)
{
	const struct mask_known *k = v->search->known;

	for (size_t i = 0; k && i < k->n; i++) {
		const char *value = secret_reveal(k->v[i]);
		const size_t n = strlen(value);
		const char *at = v->text.p;
		const char *end = v->text.p + v->text.n;

		for (;
		     n >= KNOWN_LEAST && (at = memmem(at, (size_t)(end - at), value, n));
		     at += n)
			add_span(v, (size_t)(at - v->text.p),
				 (size_t)(at - v->text.p) + n);
	}
}

static void look(struct view *v)
{
	struct mask_found found = {.add = add_span, .ctx = v};
	const struct str s = v->text;

	if (s.n == 0)
		return;
	look_for_known(v);
	mask_scan(s, v->search->cut, &found);
	v->search->open_key = v->search->open_key || found.open_key;
	if (v->depth == DEPTH_MAX)
		return;
	look_into_base64(v);
	if (memchr(s.p, '\\', s.n))
		look_as(v, read_escaped);
	if (memchr(s.p, '%', s.n))
		look_as(v, read_percent);
	if (has_controls(s))
		look_as(v, read_shown);
}

/* --- the text that is given out
 * --------------------------------------------------------- */

static void sort(struct span *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct span x = v[i];
		size_t k = i;

		for (; k > 0 && v[k - 1].from > x.from; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

static struct str replace(struct search *f, struct arena *a, struct str s)
{
	const size_t word = sizeof(MASKED) - 1;
	char *out = arena_alloc(a, s.n + f->n * word + 1);
	size_t len = 0, at = 0;

	sort(f->v, f->n);
	for (size_t i = 0; i < f->n; i++) {
		const size_t from = f->v[i].from < s.n ? f->v[i].from : s.n;
		const size_t to = f->v[i].to < s.n ? f->v[i].to : s.n;

		if (to <= at)
			continue;
		if (from >= at) {
			memcpy(out + len, s.p + at, from - at);
			len += from - at;
			memcpy(out + len, MASKED, word);
			len += word;
		}
		at = to;
	}
	memcpy(out + len, s.p + at, s.n - at);
	return (struct str){out, len + s.n - at};
}

static struct str mask(struct arena *scratch, struct arena *a, struct str s,
		       const struct mask_known *known, bool cut, bool *ret_open)
{
	struct search f = {.arena = scratch, .known = known, .cut = cut};
	struct view v = {.text = s, .search = &f};

	look(&v);
	*ret_open = f.open_key;
	return f.n > 0 ? replace(&f, a, s) : s;
}

struct str mask_text(struct arena *a, struct str s, const struct mask_known *known,
		     bool cut)
{
	struct arena scratch;
	struct str ret;
	bool open;

	arena_init(&scratch, 0);
	ret = mask(&scratch, a, s, known, cut, &open);
	arena_free(&scratch);
	return ret;
}

const char *mask_z(struct arena *a, const char *z, const struct mask_known *known)
{
	const struct str s = str_of(z);
	const struct str masked = mask_text(a, s, known, false);

	return masked.p == s.p ? z : str_dup(a, masked);
}

/* --- lines
 * -------------------------------------------------------------------------------- */

static void free_scratch(void *scratch)
{
	arena_free(scratch);
}

void mask_lines_init(struct mask_lines *m, struct arena *owner)
{
	*m = (struct mask_lines){.scratch = arena_new(owner, struct arena)};
	arena_init(m->scratch, 0);
	arena_defer(owner, free_scratch, m->scratch);
}

void mask_lines_restart(struct mask_lines *m)
{
	m->key = 0;
	m->block = m->begun = false;
}

/* Of a key or of base64 that goes over lines: nothing but its letters. */
static bool is_body(struct str s, bool *ret_whole)
{
	bool upper = false, lower = false, digit = false;

	s = str_trim(s);
	*ret_whole = s.n >= BODY_LEAST && s.n <= BODY_MOST;
	for (size_t i = 0; i < s.n; i++) {
		if (!mask_is_base64((unsigned char)s.p[i]) && s.p[i] != '=')
			return false;
		upper = upper || (s.p[i] >= 'A' && s.p[i] <= 'Z');
		lower = lower || (s.p[i] >= 'a' && s.p[i] <= 'z');
		digit = digit || (s.p[i] >= '0' && s.p[i] <= '9');
	}
	*ret_whole = *ret_whole && upper && lower && digit;
	return s.n > 0;
}

/* A logger's own words may stand before each line of a key. */
static bool has_long_run(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; s.p && i < s.n && n < 40; i++)
		n = mask_is_base64((unsigned char)s.p[i]) ? n + 1 : 0;
	return n >= 40;
}

static bool goes_on(struct mask_lines *m, struct str line)
{
	const struct str s = str_trim(line);
	bool whole;
	const bool body = is_body(line, &whole);

	if (m->key > 0) {
		m->key--;
		if (memmem(s.p ? s.p : "", s.n, "-----END", 8)) {
			m->key = 0;
			return true;
		}
		if (body || s.n == 0 || has_long_run(s) ||
		    str_has_prefix(s, STR("Proc-Type:")) ||
		    str_has_prefix(s, STR("DEK-Info:")))
			return true;
		m->key = 0;
		return false;
	}
	if (m->block) {
		m->block = whole;
		return body;
	}
	return !m->begun && body && whole;
}

struct str mask_line(struct mask_lines *m, struct str line, bool cut)
{
	struct str ret;
	bool open = false, whole;

	arena_reset(m->scratch);
	if (goes_on(m, line))
		return STR(MASKED);
	m->begun = true;
	ret = mask(m->scratch, m->scratch, line, NULL, cut, &open);
	if (open)
		m->key = KEY_LINES;
	m->block = ret.p != line.p && is_body(line, &whole) && whole;
	return ret;
}
