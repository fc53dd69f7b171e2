#include "core/aws/credentials.h"

#include <stdio.h>
#include <string.h>

#include "core/aws/provider.h"
#include "core/base/limits.h"
#include "core/base/str.h"
#include "core/json/tree.h"

enum {
	EARLY_MS = 5 * 60 * 1000, /* refreshed so long before the end */
	AGAIN_MS = 60 * 1000, /* after a refresh that failed or gave short-lived keys */
	STATIC_MS = 5 * 60 * 1000, /* the same with expired keys of the instance */
	BROKEN_MS = 5 * 1000, /* until a fault is looked at again that needs a person */
	FILE_MAX = 256 * 1024,
	TRIED_MAX = 1024,
};

struct aws_credentials {
	struct transport *net;
	struct clock *clock;
	const char *region;
	const char *(*lookup)(void *ctx, const char *name);
	void *lookup_ctx;
	struct arena keys_arena; /* holds `keys`, wiped when they change */
	struct aws_keys keys;
	int64_t generation;
	bool have;
	bool from_instance;
	const char *source;      /* in keys_arena */
	int64_t next_try_ms;     /* wall */
	struct err broken;       /* what only a person can mend; code NONE: nothing */
	int64_t broken_until_ms; /* monotonic */
};

/* ---------------------------------------------------------------- for providers */

const char *provider_setting(struct provider *p, const char *name)
{
	const char *z = p->lookup ? p->lookup(p->lookup_ctx, name) : NULL;

	return z && *z ? z : NULL;
}

enum provided provider_failed(struct provider *p, const char *name, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_printf(p->tried, "%s: ", name);
	buf_vprintf(p->tried, fmt, ap);
	buf_adds(p->tried, "; ");
	va_end(ap);
	return PROVIDED_FAILED;
}

static void close_file(void *f)
{
	fclose(f);
}

const char *provider_file(struct provider *p, const char *path)
{
	struct buf text;
	char chunk[4096];
	FILE *f = fopen(path, "re");

	if (!f)
		return NULL;
	arena_defer(p->arena, close_file, f);
	buf_init(&text, p->arena, FILE_MAX);
	for (size_t n; (n = fread(chunk, 1, sizeof(chunk), f)) > 0;)
		buf_add(&text, chunk, n);
	if (ferror(f) || text.overflow || (text.p && memchr(text.p, 0, text.len)))
		return NULL;
	return buf_cstr(&text);
}

json_t *provider_json(struct provider *p, const char *path)
{
	const char *text = path ? provider_file(p, path) : NULL;
	struct err ignored = {0};

	return text ? json_parse(p->arena, str_of(text), &ignored) : NULL;
}

enum provided provide_environment(struct provider *p, struct aws_keys *ret)
{
	const char *id = provider_setting(p, "AWS_ACCESS_KEY_ID");
	const char *secret = provider_setting(p, "AWS_SECRET_ACCESS_KEY");
	const char *expires = provider_setting(p, "AWS_CREDENTIAL_EXPIRATION");

	if (!id || !secret) {
		buf_adds(p->tried, "environment: not set; ");
		return PROVIDED_NONE;
	}
	*ret = (struct aws_keys){
		.access_key = secret_of(id),
		.secret_key = secret_of(secret),
		.session_token = secret_of(provider_setting(p, "AWS_SESSION_TOKEN")),
	};
	if (expires && !time_parse_rfc3339(expires, &ret->expires_ms))
		return provider_broken(p, "Correct or unset AWS_CREDENTIAL_EXPIRATION.",
				       "environment",
				       "AWS_CREDENTIAL_EXPIRATION is not a time");
	p->source = "the environment (AWS_ACCESS_KEY_ID)";
	return PROVIDED_KEYS;
}

/* ---------------------------------------------------------------- chain */

/* A profile named by AWS_PROFILE is a choice: nothing else is asked. */
static enum provided ask_all(struct provider *p, struct aws_keys *ret, bool *ret_instance)
{
	const char *profile = provider_setting(p, "AWS_PROFILE");
	enum provided got;

	*ret_instance = false;
	if (profile)
		return provide_profile(p, profile, ret);
	got = provide_environment(p, ret);
	if (got == PROVIDED_NONE)
		got = provide_profile(p, NULL, ret);
	if (got == PROVIDED_NONE)
		got = provide_web_identity(p, ret);
	if (got == PROVIDED_NONE)
		got = provide_container(p, ret);
	if (got == PROVIDED_NONE) {
		got = provide_instance(p, ret);
		*ret_instance = got == PROVIDED_KEYS;
	}
	return got;
}

static struct secret copied(struct arena *a, struct secret s)
{
	const char *z = secret_reveal(s);

	return z ? secret_dup(a, z) : secret_of(NULL);
}

static struct aws_keys copied_keys(struct arena *a, const struct aws_keys *k)
{
	return (struct aws_keys){
		.access_key = copied(a, k->access_key),
		.secret_key = copied(a, k->secret_key),
		.session_token = copied(a, k->session_token),
		.expires_ms = k->expires_ms,
	};
}

/* A header or a signature must not be broken apart by a key. */
static bool are_clean(const struct aws_keys *k)
{
	const char *token = secret_reveal(k->session_token);

	return !strpbrk(secret_reveal(k->access_key), "\r\n") &&
	       !strpbrk(secret_reveal(k->secret_key), "\r\n") &&
	       (!token || !strpbrk(token, "\r\n"));
}

static void say_what_failed(struct aws_credentials *c, const struct provider *p,
			    enum provided got, struct err *e)
{
	static const char nothing[] =
		"Run it where a role provides credentials (instance profile or EKS Pod "
		"Identity), or set AWS_PROFILE, or set AWS_ACCESS_KEY_ID and "
		"AWS_SECRET_ACCESS_KEY.";
	const char *fix = got == PROVIDED_NONE && !p->fix ? nothing : p->fix;

	err_set(e, ERR_CREDENTIALS, "No valid AWS credentials found. Tried: %s",
		buf_cstr(p->tried));
	if (!fix)
		return;
	e->retry = RETRY_HUMAN;
	err_fix(e, "%s", fix);
	c->broken = *e;
	c->broken_until_ms = c->clock->mono_ms(c->clock) + BROKEN_MS;
}

static bool refresh(struct aws_credentials *c, struct err *e)
{
	struct arena scratch;
	struct buf tried;
	struct aws_keys keys = {0};
	bool instance, good;
	enum provided got;
	struct provider p = {
		.arena = &scratch,
		.net = c->net,
		.clock = c->clock,
		.region = c->region,
		.lookup = c->lookup,
		.lookup_ctx = c->lookup_ctx,
		.tried = &tried,
	};

	arena_init(&scratch, 0);
	buf_init(&tried, &scratch, TRIED_MAX);
	got = ask_all(&p, &keys, &instance);
	good = got == PROVIDED_KEYS && are_clean(&keys);
	if (good) {
		arena_reset(&c->keys_arena);
		c->keys = copied_keys(&c->keys_arena, &keys);
		c->source = arena_strdup(&c->keys_arena, p.source);
		c->generation++;
		c->have = true;
		c->from_instance = instance;
		c->broken.code = ERR_NONE;
	} else {
		say_what_failed(c, &p, got, e);
	}
	arena_free(&scratch);
	return good;
}

static bool are_usable(const struct aws_credentials *c, int64_t now_ms)
{
	/* The instance's keys are extended by the service when it cannot renew
	 * them; it is the called service that decides. */
	return c->have && (c->keys.expires_ms == 0 || now_ms < c->keys.expires_ms ||
			   c->from_instance);
}

static bool are_fresh(const struct aws_credentials *c, int64_t now_ms)
{
	return are_usable(c, now_ms) &&
	       (c->keys.expires_ms == 0 || now_ms < c->keys.expires_ms - EARLY_MS ||
		now_ms < c->next_try_ms);
}

bool aws_credentials_get(struct aws_credentials *c, struct arena *a, struct aws_keys *ret,
			 struct err *e)
{
	int64_t now_ms = c->clock->wall_ms(c->clock);

	if (!are_usable(c, now_ms) && c->broken.code != ERR_NONE &&
	    c->clock->mono_ms(c->clock) < c->broken_until_ms) {
		*e = c->broken;
		return false;
	}
	if (!are_fresh(c, now_ms)) {
		bool good = refresh(c, e);

		if (!good && !are_usable(c, now_ms))
			return false;
		err_clear(e); /* the old keys do for now */
		c->next_try_ms =
			now_ms + (c->keys.expires_ms != 0 && now_ms >= c->keys.expires_ms
					  ? STATIC_MS
					  : AGAIN_MS);
	}
	*ret = copied_keys(a, &c->keys);
	return true;
}

void aws_credentials_drop(struct aws_credentials *c)
{
	c->have = false;
	c->keys = (struct aws_keys){0};
	c->source = NULL;
	arena_reset(&c->keys_arena);
}

int64_t aws_credentials_generation(const struct aws_credentials *c)
{
	return c->generation;
}

const char *aws_credentials_source(const struct aws_credentials *c)
{
	return c->have ? c->source : NULL;
}

static void free_keys(void *keys_arena)
{
	arena_free(keys_arena);
}

struct aws_credentials *
aws_credentials_new(struct arena *a, struct transport *net, struct clock *clock,
		    const char *region,
		    const char *(*lookup)(void *ctx, const char *name), void *lookup_ctx)
{
	struct aws_credentials *c = arena_new(a, struct aws_credentials);

	*c = (struct aws_credentials){
		.net = net,
		.clock = clock,
		.region = region,
		.lookup = lookup,
		.lookup_ctx = lookup_ctx,
	};
	arena_init(&c->keys_arena, 0);
	arena_defer(a, free_keys, &c->keys_arena);
	return c;
}
