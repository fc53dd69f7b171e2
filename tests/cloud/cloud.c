#include "tests/cloud/cloud.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cloud/core.h"
#include "tests/cloud/iam.h"

/* The cloud lives as long as a test or a server does: much more than a request. */
enum { CLOUD_ARENA_MAX = 1 << 30 };

static void cloud_start(struct cloud *c)
{
	c->auth_clock = c->o.clock;
	rng_seeded_init(&c->ids, c->o.seed);
	rng_seeded_init(&c->chance, c->o.seed ^ 0x9e3779b97f4a7c15u);
	c->state = json_own(&c->arena, json_object());
	c->settings = json_own(&c->arena, json_object());
	c->ledger = json_own(&c->arena, json_array());
	c->faults = json_own(&c->arena, json_array());
}

static const char *keep(struct cloud *c, const char *z, const char *fallback)
{
	return arena_strdup(&c->arena, z ? z : fallback);
}

struct cloud *cloud_new(const struct cloud_options *o)
{
	struct cloud *c = calloc(1, sizeof(*c));
	struct err e = {0};

	if (!c)
		abort();
	arena_init(&c->arena, CLOUD_ARENA_MAX);
	c->o = *o;
	c->o.account = keep(c, o->account, "123456789012");
	c->o.region = keep(c, o->region, "us-west-2");
	c->o.access_key = keep(c, o->access_key, "AKIAIOSFODNN7EXAMPLE");
	c->o.secret_key =
		keep(c, o->secret_key, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
	c->o.caller_arn =
		o->caller_arn ? arena_strdup(&c->arena, o->caller_arn)
			      : cloud_arn_global(c, &c->arena, "iam", "user/operator");
	c->o.kube_base_url = keep(c, o->kube_base_url, "https://127.0.0.1:0");
	c->o.kube_ca_pem = keep(c, o->kube_ca_pem, "");
	if (c->o.speed <= 0)
		c->o.speed = 1;
	cloud_start(c);
	cloud_record_open(c);
	c->model = model_load(&c->arena, o->models ? o->models : "", &e);
	if (!c->model) {
		fprintf(stderr, "cloud: %s\n", e.detail);
		cloud_free(c);
		return NULL;
	}
	return c;
}

void cloud_free(struct cloud *c)
{
	struct arena arena;

	if (!c)
		return;
	/* The struct's own arena must outlive the struct while it unwinds. */
	arena = c->arena;
	arena_free(&arena);
	free(c);
}

struct clock *cloud_clock(struct cloud *c)
{
	return c->o.clock;
}

void cloud_set_auth_clock(struct cloud *c, struct clock *clock)
{
	c->auth_clock = clock;
}

struct clock *cloud_auth_clock(struct cloud *c)
{
	return c->auth_clock;
}

const struct cloud_options *cloud_opts(struct cloud *c)
{
	return &c->o;
}

const json_t *cloud_state(struct cloud *c)
{
	return c->state;
}

json_t *cloud_save(struct cloud *c)
{
	return json_pack("{s:o, s:o, s:I, s:I, s:I}", "state", json_deep_copy(c->state),
			 "settings", json_deep_copy(c->settings), "ids",
			 (json_int_t)c->ids.state, "chance", (json_int_t)c->chance.state,
			 "seq", (json_int_t)c->seq);
}

/* The tree itself stays: the arena has a hold on it. */
static void replace(json_t *tree, const json_t *saved)
{
	json_t *copy = json_deep_copy(saved);

	json_object_clear(tree);
	json_object_update(tree, copy);
	json_decref(copy);
}

void cloud_restore(struct cloud *c, const json_t *saved)
{
	replace(c->state, json_object_get(saved, "state"));
	replace(c->settings, json_object_get(saved, "settings"));
	c->ids.state = (uint64_t)json_int_or(saved, "ids", 0);
	c->chance.state = (uint64_t)json_int_or(saved, "chance", 0);
	c->seq = json_int_or(saved, "seq", 0);
	c->n_open = 0;
	json_array_clear(c->ledger);
	json_array_clear(c->faults);
}

void cloud_configure(struct cloud *c, const json_t *settings)
{
	json_merge_patch(c->settings, settings);
	c->o.list_lag_ms = json_int_or(c->settings, "list_lag_ms", c->o.list_lag_ms);
	int64_t speed = json_int_or(c->settings, "speed", c->o.speed);

	c->o.speed = speed > 0 ? (int)speed : 1;
}

const json_t *cloud_settings(struct cloud *c)
{
	return c->settings;
}

void cloud_advance(struct cloud *c)
{
	/* A service that calls another one while it advances must not recurse. */
	if (c->advancing)
		return;
	c->advancing = true;
	int64_t now = c->o.clock->wall_ms(c->o.clock);

	for (size_t i = 0; cloud_services[i]; i++)
		if (cloud_services[i]->advance)
			cloud_services[i]->advance(c, now);
	cloud_kube_advance(c, now);
	c->advancing = false;
}

/* --- tables ------------------------------------------------------------- */

json_t *cloud_table(struct cloud *c, const char *table)
{
	json_t *t = json_object_get(c->state, table);

	if (!t) {
		t = json_object();
		json_object_set_new(c->state, table, t);
	}
	return t;
}

json_t *cloud_get(struct cloud *c, const char *table, const char *id)
{
	return id ? json_object_get(cloud_table(c, table), id) : NULL;
}

json_t *cloud_put(struct cloud *c, const char *table, const char *id, json_t *obj)
{
	if (!json_object_get(obj, "_created_ms"))
		json_object_set_new(obj, "_created_ms",
				    json_integer(c->o.clock->wall_ms(c->o.clock)));
	json_object_set_new(cloud_table(c, table), id, obj);
	return obj;
}

void cloud_delete(struct cloud *c, const char *table, const char *id)
{
	json_object_del(cloud_table(c, table), id);
}

bool cloud_listed(struct cloud *c, const json_t *obj)
{
	int64_t now = c->o.clock->wall_ms(c->o.clock);

	return now - json_int_or(obj, "_created_ms", 0) >= c->o.list_lag_ms;
}

const char *cloud_id(struct cloud *c, struct arena *a, const char *prefix, int hex)
{
	struct buf b;

	buf_init(&b, a, 256);
	buf_adds(&b, prefix);
	for (int i = 0; i < hex; i++)
		buf_addc(&b, "0123456789abcdef"[rng_below(&c->ids.rng, 16)]);
	return buf_cstr(&b);
}

int64_t cloud_ms(struct cloud *c, int64_t real_ms)
{
	int64_t ms = real_ms / c->o.speed;

	return ms > 0 || real_ms <= 0 ? ms : 1;
}

json_t *cloud_seconds(int64_t wall_ms)
{
	if (wall_ms % 1000 == 0)
		return json_integer(wall_ms / 1000);
	return json_real((double)wall_ms / 1000.0);
}

/* Tokens are opaque to clients: an offset, guarded against made-up ones. */
static const char *page_token(struct arena *a, size_t at)
{
	return arena_printf(a, "%08zx%08zx", at, ((at + 77) * 2654435761u) & 0xffffffffu);
}

json_t *cloud_page(struct cloud_call *call, json_t *all, const char *token, int64_t max,
		   const char **ret_next)
{
	size_t n = json_array_size(all), at = 0;
	json_t *page = json_new_list(call->arena);

	*ret_next = NULL;
	if (token && *token) {
		char head[9] = {0};

		if (strlen(token) != 16)
			return NULL;
		memcpy(head, token, 8);
		at = strtoul(head, NULL, 16);
		if (!streq(page_token(call->arena, at), token))
			return NULL;
	}
	size_t end = max > 0 && at + (size_t)max < n ? at + (size_t)max : n;

	for (size_t i = at; i < end; i++)
		json_array_append(page, json_array_get(all, i));
	if (end < n)
		*ret_next = page_token(call->arena, end);
	return page;
}
