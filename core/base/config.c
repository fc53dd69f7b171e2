#include "core/base/config.h"

#include <stdarg.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "core/base/str.h"

#define PREFIX "INSTANTSTART_"

enum kind { KIND_TEXT, KIND_INT, KIND_BOOL, KIND_SECRET };

struct setting {
	const char *name; /* whole variable name */
	enum kind kind;
	size_t offset;
	const char *dflt_text;
	int64_t dflt_int;
	int64_t min, max;
	const char *unit;
	const char *doc;
};

static const struct setting settings[] = {
#define CONFIG_TEXT(field, var, dflt, doc_)                                              \
	{.name = PREFIX var,                                                             \
	 .kind = KIND_TEXT,                                                              \
	 .offset = offsetof(struct config, field),                                       \
	 .dflt_text = (dflt),                                                            \
	 .doc = (doc_)},
#define CONFIG_INT(field, var, dflt, min_, max_, unit_, doc_)                            \
	{.name = PREFIX var,                                                             \
	 .kind = KIND_INT,                                                               \
	 .offset = offsetof(struct config, field),                                       \
	 .dflt_int = (dflt),                                                             \
	 .min = (min_),                                                                  \
	 .max = (max_),                                                                  \
	 .unit = (unit_),                                                                \
	 .doc = (doc_)},
#define CONFIG_BOOL(field, var, dflt, doc_)                                              \
	{.name = PREFIX var,                                                             \
	 .kind = KIND_BOOL,                                                              \
	 .offset = offsetof(struct config, field),                                       \
	 .dflt_int = (dflt),                                                             \
	 .doc = (doc_)},
#define CONFIG_SECRET(field, var, dflt, doc_)                                            \
	{.name = PREFIX var,                                                             \
	 .kind = KIND_SECRET,                                                            \
	 .offset = offsetof(struct config, field),                                       \
	 .dflt_text = (dflt),                                                            \
	 .doc = (doc_)},
#include "core/base/config.def"
#undef CONFIG_TEXT
#undef CONFIG_INT
#undef CONFIG_BOOL
#undef CONFIG_SECRET
};

enum { N_SETTINGS = sizeof(settings) / sizeof(settings[0]) };

/* What is being loaded, and the faults found so far. */
struct load {
	struct config *config;
	struct arena *arena;
	config_lookup_fn *lookup;
	void *ctx;
	struct violation violations[N_SETTINGS];
	size_t n;
};

static void *member(struct config *c, const struct setting *s)
{
	return (char *)c + s->offset;
}

static const void *member_const(const struct config *c, const struct setting *s)
{
	return (const char *)c + s->offset;
}

__attribute__((format(printf, 4, 5))) static void refuse(struct load *l,
							 const struct setting *s,
							 const char *seen,
							 const char *expected, ...)
{
	struct violation *v = &l->violations[l->n++];
	va_list ap;

	str_copy(v->field, sizeof(v->field), s->name);
	str_copy(v->detail, sizeof(v->detail), s->doc);
	str_copy(v->seen, sizeof(v->seen), seen);
	va_start(ap, expected);
	vsnprintf(v->expected, sizeof(v->expected), expected, ap);
	va_end(ap);
}

/* An empty variable counts as not set, as a shell's `X= program` means it. */
static const char *value_of(const struct load *l, const char *name)
{
	const char *value = l->lookup(l->ctx, name);

	return value && *value ? value : NULL;
}

static void load_int(struct load *l, const struct setting *s, const char *value)
{
	int64_t *at = member(l->config, s);

	*at = s->dflt_int;
	if (!value)
		return;
	if (!str_to_i64(str_of(value), at) || *at < s->min || *at > s->max)
		refuse(l, s, value, "a whole number from %lld to %lld (%s)",
		       (long long)s->min, (long long)s->max, s->unit);
}

static void load_bool(struct load *l, const struct setting *s, const char *value)
{
	bool *at = member(l->config, s);

	*at = s->dflt_int != 0;
	if (!value)
		return;
	*at = streq(value, "1") || streq(value, "true") || streq(value, "yes");
	if (!*at && !streq(value, "0") && !streq(value, "false") && !streq(value, "no"))
		refuse(l, s, value, "1, true, yes, 0, false or no");
}

/* The first line of a file; false when it cannot be read. */
static bool read_first_line(const char *path, char *line, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;

	if (fd < 0)
		return false;
	while (len < size - 1) {
		const ssize_t got = read(fd, line + len, size - 1 - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			close(fd);
			return false;
		}
		if (got == 0)
			break;
		len += (size_t)got;
	}
	close(fd);
	line[len] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	return true;
}

static void load_secret(struct load *l, const struct setting *s, const char *value)
{
	struct secret *at = member(l->config, s);
	char line[4096];
	const char *path = value_of(l, arena_printf(l->arena, "%s_FILE", s->name));

	*at = secret_dup(l->arena, value ? value : s->dflt_text);
	if (!path)
		return;
	if (value) {
		refuse(l, s, NULL, "either %s or %s_FILE, not both", s->name, s->name);
	} else if (!read_first_line(path, line, sizeof(line)) || !line[0]) {
		refuse(l, s, path,
		       "%s_FILE: a readable file whose first line is the value", s->name);
	} else {
		*at = secret_dup(l->arena, line);
	}
	explicit_bzero(line, sizeof(line));
}

static void load_setting(struct load *l, const struct setting *s)
{
	const char *value = value_of(l, s->name);

	switch (s->kind) {
	case KIND_TEXT:
		if (!value)
			value = s->dflt_text;
		*(const char **)member(l->config, s) =
			value ? arena_strdup(l->arena, value) : NULL;
		break;
	case KIND_INT:
		load_int(l, s, value);
		break;
	case KIND_BOOL:
		load_bool(l, s, value);
		break;
	case KIND_SECRET:
		load_secret(l, s, value);
		break;
	}
}

/* The row of a member. There is one for each: config.def made both. */
static const struct setting *setting_of(size_t offset)
{
	size_t i = 0;

	while (i < N_SETTINGS - 1 && settings[i].offset != offset)
		i++;
	return &settings[i];
}

/* Links are made by adding a path: the console and the API are at the root of a host.
 * A slash at the end is as good as none. */
static void check_public_url(struct load *l)
{
	struct config *c = l->config;
	const char *host = strstr(c->public_url, "://");
	size_t n = strlen(c->public_url);

	while (n > 0 && c->public_url[n - 1] == '/')
		n--;
	if (host && (str_starts(c->public_url, "http://") ||
		     str_starts(c->public_url, "https://"))) {
		host += 3;
		if (host < c->public_url + n &&
		    strcspn(host, "/?#@ \t\\\"") == (size_t)(c->public_url + n - host)) {
			c->public_url = arena_strndup(l->arena, c->public_url, n);
			return;
		}
	}
	refuse(l, setting_of(offsetof(struct config, public_url)), c->public_url,
	       "http:// or https:// and a host, optionally with a port, without a path");
}

/* What one row cannot say alone. */
static void check_across(struct load *l)
{
	struct config *c = l->config;
	static const char *const levels[] = {"debug", "info", "warn", "error"};
	bool known = false;

	/* A call that outlives its lease would be made twice. */
	if (c->call_timeout_ms >= c->lease_ms)
		refuse(l, setting_of(offsetof(struct config, call_timeout_ms)),
		       arena_printf(l->arena, "%lld", (long long)c->call_timeout_ms),
		       "less than the lease of %lld ms", (long long)c->lease_ms);
	for (size_t i = 0; i < 4; i++)
		known = known || streq(c->log_level, levels[i]);
	if (!known)
		refuse(l, setting_of(offsetof(struct config, log_level)), c->log_level,
		       "debug, info, warn or error");
	if (!c->region)
		c->region = value_of(l, "AWS_REGION");
	if (!c->region)
		c->region = value_of(l, "AWS_DEFAULT_REGION");
	if (c->region)
		c->region = arena_strdup(l->arena, c->region);
	check_public_url(l);
	if (!secret_reveal(c->owner_database_url))
		c->owner_database_url = c->database_url;
}

bool config_load(struct config *ret, struct arena *a, config_lookup_fn *lookup, void *ctx,
		 struct err *e)
{
	struct load l = {.config = ret, .arena = a, .lookup = lookup, .ctx = ctx};
	struct violation *kept;

	*ret = (struct config){0};
	for (size_t i = 0; i < N_SETTINGS; i++)
		load_setting(&l, &settings[i]);
	/* Values that are wrong by themselves are not compared with others. */
	if (l.n == 0)
		check_across(&l);
	if (l.n == 0)
		return true;
	kept = arena_array(a, struct violation, l.n);
	memcpy(kept, l.violations, l.n * sizeof(*kept));
	err_set(e, ERR_CONFIG, "%zu setting%s not valid: %s must be %s", l.n,
		l.n == 1 ? " is" : "s are", kept[0].field, kept[0].expected);
	err_field(e, kept[0].field, kept[0].seen, kept[0].expected);
	e->violations = kept;
	e->n_violations = l.n;
	return false;
}

const char *config_from_env(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

static bool has_owner(const struct config *c)
{
	return secret_reveal(c->owner_database_url) &&
	       secret_reveal(c->owner_database_url) != secret_reveal(c->database_url);
}

/* The leak check of a sanitizer build looks at its own process like a stranger. */
static void set_visible(bool visible)
{
#ifndef __SANITIZE_ADDRESS__
	prctl(PR_SET_DUMPABLE, visible ? 1 : 0);
#else
	(void)visible;
#endif
}

void config_guard_owner(const struct config *c)
{
	if (has_owner(c))
		set_visible(false);
}

void config_forget_owner(struct config *c)
{
	static const char *const names[] = {PREFIX "OWNER_DATABASE_URL",
					    PREFIX "OWNER_DATABASE_URL_FILE"};
	union {
		const char *in;
		char *out;
	} kept = {.in = secret_reveal(c->owner_database_url)};

	if (has_owner(c)) {
		explicit_bzero(kept.out, strlen(kept.out));
		set_visible(true);
	}
	c->owner_database_url = secret_of(NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *value = getenv(names[i]);

		if (value) /* where it lies: unsetting hides it from us only */
			explicit_bzero(value, strlen(value));
		unsetenv(names[i]);
	}
}

void config_help(struct buf *out)
{
	for (size_t i = 0; i < N_SETTINGS; i++) {
		const struct setting *s = &settings[i];

		buf_printf(out, "  %s\n      %s\n", s->name, s->doc);
		switch (s->kind) {
		case KIND_INT:
			buf_printf(out, "      default %lld, from %lld to %lld %s\n",
				   (long long)s->dflt_int, (long long)s->min,
				   (long long)s->max, s->unit);
			break;
		case KIND_BOOL:
			buf_printf(out, "      default %s\n",
				   s->dflt_int ? "true" : "false");
			break;
		case KIND_SECRET:
			buf_printf(out,
				   "      secret; or %s_FILE: a file whose first "
				   "line it is\n",
				   s->name);
			break;
		case KIND_TEXT:
			if (s->dflt_text && *s->dflt_text)
				buf_printf(out, "      default %s\n", s->dflt_text);
			break;
		}
	}
}

void config_dump(const struct config *c, struct buf *out)
{
	for (size_t i = 0; i < N_SETTINGS; i++) {
		const struct setting *s = &settings[i];
		const void *at = member_const(c, s);
		const char *text;

		switch (s->kind) {
		case KIND_TEXT:
			text = *(const char *const *)at;
			buf_printf(out, "%s=%s\n", s->name, text ? text : "(not set)");
			break;
		case KIND_INT:
			buf_printf(out, "%s=%lld\n", s->name,
				   (long long)*(const int64_t *)at);
			break;
		case KIND_BOOL:
			buf_printf(out, "%s=%s\n", s->name,
				   *(const bool *)at ? "true" : "false");
			break;
		case KIND_SECRET:
			buf_printf(out, "%s=%s\n", s->name,
				   secret_reveal(*(const struct secret *)at)
					   ? "(set)"
					   : "(not set)");
			break;
		}
	}
}
