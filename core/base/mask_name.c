#include "core/base/mask_name.h"

#include <string.h>

#include "core/base/mask.h"

enum {
	NAME_KEPT = 32,
	NAME_MOST = 256, /* no name is longer */
	/* Of a value, to judge it: whoever writes a text must not have all of it looked
	 * at once for each "=" in it. */
	JUDGED = 256
};

/* Written without "_", "-" and "."; a name that ends so is meant. */
static const char *const strong[] = {
	"password",      "passwd",        "passphrase",       "secretkey",
	"accesskey",     "apikey",        "privatekey",       "clientsecret",
	"amzsignature",  "googsignature", "amzsecuritytoken", "sessiontoken",
	"accesstoken",   "refreshtoken",  "authtoken",        "bearertoken",
	"hftoken",       "hubtoken",      "registrytoken",    "oauthtoken",
	"identitytoken", "accountkey",    "signingkey",       "authorization",
	"setcookie",     "securitytoken", "dbpass",           "encryptionkey",
};
/* Of these only a value that nobody would write by hand. */
static const char *const weak[] = {"token", "secret", "signature",
				   "sig",   "auth",   "credentials",
				   "pwd",   "pass",   "credential"};
/* Tokens that open nothing. */
static const char *const harmless[] = {
	"nexttoken",         "clienttoken", "requesttoken", "continuetoken",
	"continuationtoken", "pagetoken",   "forwardtoken", "backwardtoken"};

static bool is_name(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
}

/* The last letters of the name, plain. */
static struct str plain_name(struct str name, char out[NAME_KEPT])
{
	size_t n = 0;

	for (size_t i = name.n; i > 0 && n < NAME_KEPT; i--) {
		const char c = name.p[i - 1];

		if (c == '_' || c == '-' || c == '.')
			continue;
		out[NAME_KEPT - ++n] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
	}
	return (struct str){out + NAME_KEPT - n, n};
}

static bool ends_in_any(struct str name, const char *const *ends, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_has_suffix(name, str_of(ends[i])))
			return true;
	return false;
}

/* References and blanks that stand where a secret will be. */
static bool is_placeholder(struct str v)
{
	static const char *const words[] = {"null",  "none",      "nil",  "true", "None",
					    "false", "undefined", "True", "False"};
	size_t stars = 0;

	if (v.n < 3 || strchr("<[{(", v.p[0]))
		return true;
	if (v.p[0] == '$' && (v.p[1] == '{' || v.p[1] == '('))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (str_is(v, words[i]))
			return true;
	for (size_t i = 0; i < v.n; i++)
		stars += v.p[i] == '*' || v.p[i] == 'x' || v.p[i] == '.';
	return stars == v.n;
}

/* 16 letters and digits in a row, some of them digits: no word, no uuid, no name. */
static bool looks_random(struct str v)
{
	size_t row = 0;
	bool digit = false, letter = false;

	for (size_t i = 0; i < v.n; i++) {
		const char c = v.p[i];
		const bool number = c >= '0' && c <= '9';

		if (!is_name((unsigned char)c) && !strchr("+/=", c))
			return false;
		if (c == '-' || c == '.' || c == '_' || c == '/') {
			row = 0;
			digit = letter = false;
			continue;
		}
		digit = digit || number;
		letter = letter || !number;
		if (++row >= 16 && digit && letter)
			return true;
	}
	return false;
}

enum named { HARMLESS, PERHAPS, SECRET };

static enum named what_is_named(struct str name)
{
	char kept[NAME_KEPT];
	const struct str plain = plain_name(name, kept);

	if (plain.n < 3 ||
	    ends_in_any(plain, harmless, sizeof(harmless) / sizeof(*harmless)))
		return HARMLESS;
	if (ends_in_any(plain, strong, sizeof(strong) / sizeof(*strong)))
		return SECRET;
	return ends_in_any(plain, weak, sizeof(weak) / sizeof(*weak)) ? PERHAPS
								      : HARMLESS;
}

static bool is_secret(enum named named, struct str value)
{
	return named != HARMLESS && !is_placeholder(value) &&
	       (named == SECRET || looks_random(value));
}

bool mask_is_secret(struct str name, struct str value)
{
	return is_secret(what_is_named(name), value);
}

/* "password: required" is a sentence; what has more than small letters is none. */
static bool is_prose(struct str v)
{
	for (size_t i = 0; i < v.n; i++)
		if ((v.p[i] < 'a' || v.p[i] > 'z') && v.p[i] != '.')
			return false;
	return true;
}

static struct str name_before(struct str s, size_t at)
{
	size_t to = at, from;

	while (to > 0 && at - to < 2 && (s.p[to - 1] == ' ' || s.p[to - 1] == '\t'))
		to--;
	if (to > 0 && strchr("\"'`", s.p[to - 1]))
		to--;
	for (from = to;
	     from > 0 && to - from < NAME_MOST && is_name((unsigned char)s.p[from - 1]);
	     from--)
		;
	return (struct str){s.p + from, to - from};
}

/* {"name":"DB_PASSWORD","value":"…"}: the name of the value. */
static struct str name_of_value(struct str s, struct str value_member)
{
	const size_t end = (size_t)(value_member.p - s.p);
	const size_t from = end > 160 ? end - 160 : 0;
	struct str before = {s.p + from, end - from};
	const char *at = NULL;
	size_t i;

	for (const char *p = before.p;
	     (p = memmem(p, (size_t)(s.p + end - p), "name", 4)) != NULL; p += 4)
		at = p + 4;
	if (!at)
		return (struct str){"", 0};
	for (i = (size_t)(at - s.p); i < end && strchr("\"': ", s.p[i]); i++)
		;
	at = s.p + i;
	while (i < end && is_name((unsigned char)s.p[i]))
		i++;
	before = (struct str){at, (size_t)(s.p + i - at)};
	/* Nothing but the comma between the two. */
	for (; i < end; i++)
		if (!strchr("\"', \n\r\t", s.p[i]))
			return (struct str){"", 0};
	return before;
}

/* Where a value ends that goes on at `to`; `most` is far enough. */
static size_t value_end(struct str s, size_t to, size_t most, char quote)
{
	for (; to < s.n && to < most; to++)
		if (quote ? s.p[to] == quote
			  : (unsigned char)s.p[to] <= ' ' ||
				    strchr(",;&\"'`)}]>|", s.p[to]) != NULL)
			break;
	return to;
}

/* As much of it as is judged. */
static struct str value_at(struct str s, size_t at, char *ret_quote)
{
	size_t from = at, to;
	char quote = 0;

	while (from < s.n && from - at < 4 && (s.p[from] == ' ' || s.p[from] == '\t'))
		from++;
	if (from < s.n && strchr("\"'`", s.p[from]))
		quote = s.p[from++];
	to = value_end(s, from, from + JUDGED, quote);
	*ret_quote = quote;
	return (struct str){s.p + from, to - from};
}

/* "Authorization: AWS4-HMAC-SHA256 Credential=…": what follows the scheme. */
static struct str after_scheme(struct str s, struct str v, char *ret_quote)
{
	size_t at = (size_t)(v.p - s.p) + v.n;

	return at < s.n && s.p[at] == ' ' && v.n < 20 ? value_at(s, at, ret_quote) : v;
}

static bool option_at(struct str s, size_t at, struct str *ret_name)
{
	size_t end = at + 2;

	if (s.n - at < 6 || s.p[at + 1] != '-' || (at > 0 && s.p[at - 1] == '-'))
		return false;
	while (end < s.n && end - at < NAME_MOST && is_name((unsigned char)s.p[end]))
		end++;
	*ret_name = (struct str){s.p + at + 2, end - at - 2};
	return end < s.n && s.p[end] == ' ' && end > at + 2;
}

bool mask_named_at(struct str s, size_t at, size_t *ret_from, size_t *ret_to)
{
	const char c = s.p[at];
	size_t behind = at + 1;
	struct str name, value;
	enum named named;
	char quote;

	if (c == '-') {
		if (!option_at(s, at, &name))
			return false;
		behind = (size_t)(name.p - s.p) + name.n;
	} else {
		name = name_before(s, at);
		if (str_is(name, "value") || str_is(name, "Value"))
			name = name_of_value(s, name);
		/* ":=", "=>"; "==" compares. */
		if (behind < s.n && (s.p[behind] == '=' || s.p[behind] == '>'))
			behind += c == ':' || s.p[behind] == '>' ? 1 : 0;
	}
	named = what_is_named(name);
	if (named == HARMLESS)
		return false;
	value = value_at(s, behind, &quote);
	if (str_has_suffix(name, STR("uthorization")))
		value = after_scheme(s, value, &quote);
	if (!is_secret(named, value))
		return false;
	if (c == ':' && !quote && value.p > s.p + behind && is_prose(value))
		return false;
	*ret_from = (size_t)(value.p - s.p);
	*ret_to = value_end(s, *ret_from + value.n, s.n, quote);
	return true;
}
