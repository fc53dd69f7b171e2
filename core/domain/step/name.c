#include "core/domain/step/name.h"

#include <ctype.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/json/tree.h"

enum { DIGEST_LEN = 10, NAME_MAX_LEN = 600 };

const struct name_rule name_rule_role = {.max = 64, .extra = "_+=,.@", .folds = true};
const struct name_rule name_rule_policy = {.max = 128, .extra = "_+=,.@"};
const struct name_rule name_rule_stack = {.max = 128};
const struct name_rule name_rule_hyperpod = {.max = 63};
const struct name_rule name_rule_object = {.max = 253, .folds = true};
const struct name_rule name_rule_label = {.max = 63, .folds = true};
const struct name_rule name_rule_label_value = {.max = 63, .extra = "_."};

static bool is_alnum(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
	       (ch >= '0' && ch <= '9');
}

static bool is_capital(char ch)
{
	return ch >= 'A' && ch <= 'Z';
}

static bool is_allowed(const struct name_rule *r, char ch)
{
	return is_alnum(ch) || ch == '-' || (r->extra && strchr(r->extra, ch));
}

/* Every name of ours begins and ends with a letter or a digit, which all take. */
bool name_is_legal(const struct name_rule *r, const char *text)
{
	const size_t n = strlen(text);

	if (n == 0 || n > r->max || !is_alnum(text[0]) || !is_alnum(text[n - 1]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_allowed(r, text[i]) || (r->folds && is_capital(text[i])))
			return false;
	return true;
}

static const char *join(struct arena *a, const struct name_part *parts, size_t n)
{
	struct buf b;

	buf_init(&b, a, NAME_MAX_LEN);
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%s", i ? "-" : "", parts[i].text);
	return buf_cstr(&b);
}

/* a-b with c, and a with b-c, read the same when joined. */
static bool is_ambiguous(const struct name_part *parts, size_t n)
{
	size_t chosen = 0, dashed = 0;

	for (size_t i = 0; i < n; i++) {
		chosen += parts[i].is_free;
		dashed += parts[i].is_free && strchr(parts[i].text, '-') != NULL;
	}
	return chosen > 1 && dashed > 0;
}

static const char *digest(struct arena *a, const struct name_part *parts, size_t n)
{
	json_t *list = json_new_list(a);

	for (size_t i = 0; i < n; i++)
		json_push(list, json_string(parts[i].text));
	return arena_printf(a, "%.*s", DIGEST_LEN, json_digest(a, list));
}

/* What the service takes of the text, in so many characters. */
static const char *squeeze(struct arena *a, const struct name_rule *r, const char *text,
			   size_t max)
{
	char *z = arena_strdup(a, text);
	size_t n = 0;

	for (const char *p = text; *p && n < max; p++) {
		const char ch = !is_allowed(r, *p) ? '-'
				: r->folds         ? (char)tolower((unsigned char)*p)
						   : *p;

		if (ch == '-' && (n == 0 || z[n - 1] == '-'))
			continue;
		z[n++] = ch;
	}
	while (n && !is_alnum(z[n - 1]))
		n--;
	z[n] = '\0';
	return z;
}

const char *name_join(struct arena *a, const struct name_rule *r,
		      const struct name_part *parts, size_t n)
{
	const char *plain = join(a, parts, n);

	if (name_is_legal(r, plain) && !is_ambiguous(parts, n))
		return plain;
	return arena_printf(a, "%s-%s", squeeze(a, r, plain, r->max - DIGEST_LEN - 1),
			    digest(a, parts, n));
}
