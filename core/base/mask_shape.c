#include "core/base/mask_shape.h"

#include <string.h>
#include <strings.h>

#include "core/base/mask.h"
#include "core/base/mask_name.h"

enum alphabet { ALNUM, UPPER, HEX, WORD, TOKEN };

static bool is_alnum(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool mask_is_base64(unsigned char c)
{
	return is_alnum(c) || c == '+' || c == '/' || c == '-' || c == '_';
}

static bool has(enum alphabet of, unsigned char c)
{
	switch (of) {
	case ALNUM:
		return is_alnum(c);
	case UPPER:
		return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
	case HEX:
		return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
	case WORD:
		return is_alnum(c) || c == '_' || c == '-';
	case TOKEN:
		return mask_is_base64(c) || c == '.' || c == '~' || c == '=' || c == '%';
	}
	return false;
}

struct shape {
	const char *prefix;
	enum alphabet of; /* of what follows it */
	size_t min, max;  /* max 0: any length */
};

static const struct shape shapes[] = {
	/* https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html */
	{"AKIA", UPPER, 16, 16},
	{"ASIA", UPPER, 16, 16},
	{"ABIA", UPPER, 16, 16},
	{"ACCA", UPPER, 16, 16},
	/* Session tokens of STS: base64 that begins with its region's part. */
	{"IQoJb3JpZ2lu", TOKEN, 40, 0},
	{"FwoGZXIvYXdz", TOKEN, 40, 0},
	{"FQoGZXIvYXdz", TOKEN, 40, 0},
	{"FQoDYXdz", TOKEN, 40, 0},
	{"AQoDYXdz", TOKEN, 40, 0},
	{"k8s-aws-v1.", WORD, 16, 0},
	{"bedrock-api-key-", TOKEN, 20, 0},
	/* Hubs and code hosts. */
	{"hf_", ALNUM, 20, 0},
	{"api_org_", ALNUM, 20, 0},
	{"ghp_", ALNUM, 20, 0},
	{"gho_", ALNUM, 20, 0},
	{"ghu_", ALNUM, 20, 0},
	{"ghs_", WORD, 20, 0},
	{"ghr_", ALNUM, 20, 0},
	{"github_pat_", WORD, 30, 0},
	{"glpat-", WORD, 16, 0},
	{"gldt-", WORD, 16, 0},
	{"glrt-", WORD, 16, 0},
	{"glcbt-", WORD, 16, 0},
	{"gloas-", WORD, 32, 0},
	/* Registries of images and packages. */
	{"dckr_pat_", WORD, 16, 0},
	{"dckr_oat_", WORD, 16, 0},
	{"nvapi-", WORD, 32, 0},
	{"npm_", ALNUM, 30, 0},
	{"pypi-AgEI", WORD, 32, 0},
	{"AKCp", ALNUM, 60, 0},
	{"cmVmdGtu", ALNUM, 40, 0},
	/* Services of models, chats, clouds. */
	{"sk-ant-", WORD, 20, 0},
	{"sk-proj-", WORD, 20, 0},
	{"sk-or-", WORD, 20, 0},
	{"sk-svcacct-", WORD, 20, 0},
	{"sk-", ALNUM, 32, 0},
	{"sk_live_", ALNUM, 16, 0},
	{"rk_live_", ALNUM, 16, 0},
	{"gsk_", ALNUM, 40, 0},
	{"r8_", ALNUM, 36, 0},
	{"wandb_v1_", WORD, 20, 0},
	{"dapi", HEX, 32, 0},
	{"xoxb-", WORD, 20, 0},
	{"xoxp-", WORD, 20, 0},
	{"xoxa-", WORD, 20, 0},
	{"xoxr-", WORD, 20, 0},
	{"xoxs-", WORD, 20, 0},
	{"xapp-", WORD, 20, 0},
	{"https://hooks.slack.com/services/", TOKEN, 20, 0},
	{"https://discord.com/api/webhooks/", TOKEN, 20, 0},
	{"AIza", WORD, 35, 35},
	{"ya29.", WORD, 20, 0},
	{"GOCSPX-", WORD, 20, 0},
	{"SG.", TOKEN, 50, 0},
	{"hvs.", WORD, 20, 0},
	{"lin_api_", ALNUM, 30, 0},
	/* Our own. */
	{"ist_", WORD, 20, 0},
	{"iss_", WORD, 20, 0},
	{"isl_", WORD, 20, 0},
};

enum { JUDGED = 256, USER_MOST = 1024 };

/*
 * One walk over a text. Whoever writes the text chooses how often something may begin
 * in it: what was looked at from one place is kept, so that no part of it is looked at
 * again from each of them.
 */
struct reach {
	size_t from, to;
};

struct scan {
	struct str text;
	bool cut;
	struct mask_found *found;
	struct reach run[TOKEN + 1]; /* the last of each alphabet */
	struct reach payload;        /* of a JWT */
	size_t no_user_to;           /* up to here no "user:password@" follows "://" */
	size_t hidden_to;            /* of a key without its beginning */
};

static size_t reach(struct reach *r, struct str s, enum alphabet of, size_t at)
{
	/* From within it a run has the same end. */
	if (at < r->from || at >= r->to) {
		*r = (struct reach){at, at};
		while (r->to < s.n && has(of, (unsigned char)s.p[r->to]))
			r->to++;
	}
	return r->to - at;
}

static size_t run(struct scan *k, enum alphabet of, size_t at)
{
	return reach(&k->run[of], k->text, of, at);
}

static bool begins(struct str s, size_t at, const char *word)
{
	const size_t n = strlen(word);

	return s.n - at >= n && memcmp(s.p + at, word, n) == 0;
}

static bool begins_any_case(struct str s, size_t at, const char *word)
{
	const size_t n = strlen(word);

	return s.n - at >= n && strncasecmp(s.p + at, word, n) == 0;
}

/* header.payload.signature; the last may be empty. */
static size_t jwt_at(struct scan *k, size_t at)
{
	const struct str s = k->text;
	const bool cut = k->cut;
	size_t end = at + run(k, WORD, at), second;

	if (end - at < 12)
		return 0;
	if (end == s.n)
		return cut ? end - at : 0;
	if (s.p[end] != '.')
		return 0;
	second = reach(&k->payload, s, WORD, end + 1);
	end += 1 + second;
	if (second < 8 && !(cut && end == s.n))
		return 0;
	while (end < s.n && s.p[end] == '.')
		end += 1 + run(k, WORD, end + 1);
	return end - at;
}

/* Length of a secret that begins here; 0: none does. */
static size_t shape_at(struct scan *k, size_t at)
{
	const struct str s = k->text;

	if (begins(s, at, "eyJ"))
		return jwt_at(k, at);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		const struct shape *x = &shapes[i];
		size_t n, whole;

		if (x->prefix[0] != s.p[at] || !begins(s, at, x->prefix))
			continue;
		n = run(k, x->of, at + strlen(x->prefix));
		whole = strlen(x->prefix) + n;
		if ((n >= x->min || (k->cut && at + whole == s.n)) &&
		    (x->max == 0 || n <= x->max))
			return whole;
	}
	return 0;
}

/* "Bearer abc…", "Basic dXNlcjpwYXNz": the credential behind the word. */
static bool scheme_at(struct scan *k, size_t at, size_t *ret_from, size_t *ret_to)
{
	const struct str s = k->text;
	const bool bearer = begins_any_case(s, at, "bearer");
	size_t from = at + (bearer ? 6 : 5), n;
	bool digit = false, upper = false;

	if (!bearer && !begins_any_case(s, at, "basic"))
		return false;
	while (from < s.n && from - at < 12 && strchr(" \t:=\"'", s.p[from]))
		from++;
	n = run(k, TOKEN, from);
	for (size_t i = from; i < from + n && i < from + JUDGED; i++) {
		digit = digit || (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '=';
		upper = upper || (s.p[i] >= 'A' && s.p[i] <= 'Z');
	}
	*ret_from = from;
	*ret_to = from + n;
	if (from == at + (bearer ? 6 : 5) || n == 0)
		return false;
	if (k->cut && from + n == s.n)
		return true;
	return bearer ? n >= 16 && digit : n >= 8 && n % 4 == 0 && digit && upper;
}

/* -----BEGIN … PRIVATE KEY----- up to its end. */
static size_t key_at(struct str s, size_t at, struct mask_found *f)
{
	static const char end_mark[] = "-----END";
	const size_t head = s.n - at < 64 ? s.n - at : 64;
	const char *end;
	size_t to;

	if (!begins(s, at, "-----BEGIN ") || !memmem(s.p + at, head, "PRIVATE KEY", 11))
		return 0;
	end = memmem(s.p + at, s.n - at, end_mark, sizeof(end_mark) - 1);
	if (!end) {
		f->open_key = true;
		return s.n - at;
	}
	to = (size_t)(end - s.p) + sizeof(end_mark) - 1;
	while (to < s.n && s.p[to] != '-' && s.p[to] != '\n')
		to++;
	while (to < s.n && s.p[to] == '-')
		to++;
	return to - at;
}

/* The end of a key whose beginning is not there: what stands before it. */
static bool key_end_at(struct scan *k, size_t at, size_t *ret_from)
{
	const struct str s = k->text;
	const size_t head = s.n - at < 64 ? s.n - at : 64;
	size_t from = at;

	if (!begins(s, at, "-----END ") || !memmem(s.p + at, head, "PRIVATE KEY", 11))
		return false;
	while (from > k->hidden_to && (mask_is_base64((unsigned char)s.p[from - 1]) ||
				       strchr("=\r\n ", s.p[from - 1])))
		from--;
	k->hidden_to = at;
	*ret_from = from;
	return from < at;
}

/* A port is no password: "http://host:8080/path@v1". */
static bool is_port(struct str s, size_t colon)
{
	size_t i = colon + 1;

	while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
		i++;
	return i < s.n && s.p[i] == '/';
}

/* "://user:password@": the password. A "/" in it is not escaped by everybody. */
static bool password_at(struct scan *k, size_t at, size_t *ret_from, size_t *ret_to)
{
	const struct str s = k->text;
	size_t end = at + 3, last = 0, colon = 0;

	if (at < k->no_user_to)
		return false;
	for (; end < s.n && !strchr(" \t\r\n\"'`<>", s.p[end]) && s.p[end]; end++) {
		if (s.p[end] == ':' && !colon) {
			colon = end;
			if (is_port(s, colon))
				return false;
		}
		/* Names are short: what has none by now is an address. */
		if (!colon && end - at > USER_MOST)
			return false;
		if (s.p[end] != '@')
			continue;
		if (s.n - end > 7 && memcmp(s.p + end, "@sha256:", 8) == 0)
			break;
		last = end;
		/* Behind the host another one is part of the path. */
		if (memchr(s.p + at + 3, '/', end - at - 3))
			break;
	}
	if (!last)
		k->no_user_to = end;
	if (!last || !colon || colon > last || last == colon + 1)
		return false;
	*ret_from = colon + 1;
	*ret_to = last;
	return !(last - colon - 1 == sizeof(MASKED) - 1 &&
		 memcmp(s.p + colon + 1, MASKED, sizeof(MASKED) - 1) == 0);
}

/* At the first character of a word; returns where to go on. */
static size_t scan_word(struct scan *k, size_t at)
{
	const struct mask_found *f = k->found;
	const size_t n = shape_at(k, at);
	size_t from, to;

	if (n > 0) {
		f->add(f->ctx, at, at + n);
		return at + n;
	}
	if ((k->text.p[at] | 0x20) == 'b' && scheme_at(k, at, &from, &to)) {
		f->add(f->ctx, from, to);
		return to;
	}
	return at + run(k, ALNUM, at);
}

/* At any other character; returns where to go on. */
static size_t scan_mark(struct scan *k, size_t at)
{
	struct mask_found *f = k->found;
	const struct str s = k->text;
	const char c = s.p[at];
	size_t from, to, n;

	if (c == '-' && (n = key_at(s, at, f)) > 0) {
		f->add(f->ctx, at, at + n);
		return at + n;
	}
	if (c == '-' && key_end_at(k, at, &from))
		f->add(f->ctx, from, at);
	if (c == ':' && begins(s, at, "://") && password_at(k, at, &from, &to)) {
		f->add(f->ctx, from, to);
		return to;
	}
	if ((c == ':' || c == '=' || c == '-') && mask_named_at(s, at, &from, &to)) {
		f->add(f->ctx, from, to);
		return to;
	}
	return at + 1;
}

void mask_scan(struct str s, bool cut, struct mask_found *f)
{
	struct scan k = {.text = s, .cut = cut, .found = f};
	size_t at = 0;

	while (at < s.n)
		at = is_alnum((unsigned char)s.p[at]) ? scan_word(&k, at)
						      : scan_mark(&k, at);
}
