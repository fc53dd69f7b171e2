#include <string.h>

#include "core/base/buf.h"
#include "tests/cloud/kube/server.h"

enum { BOOKMARK_MS = 60 * 1000, WATCH_DEFAULT_S = 30 * 60, PIECE_MAX = 32 * 1024 * 1024 };

/* Outlives the request: it has its own arena, in which it lies itself. */
struct watch {
	struct arena arena;
	struct cloud *cloud;
	struct ks_kind kind;
	const char *cluster, *uid; /* uid: of this incarnation of the server */
	const char *resource, *ns, *api;
	struct ks_selector sel;
	bool table, metadata, bookmarks, initial_end;
	bool done; /* the last piece is out */
	int64_t rv, until_ms, bookmark_ms;
	json_t *initial; /* to be sent first; NULL */
};

static void put_event(struct watch *w, struct ks *k, struct arena *a, struct buf *b,
		      const char *type, const json_t *obj)
{
	json_t *out = json_own(a, json_copy((json_t *)(uintptr_t)obj));

	json_put_str(out, "apiVersion", w->api);
	if (w->table && !streq(type, "BOOKMARK"))
		out = ks_table(k, a, &w->kind, json_packf(a, "[O]", out), NULL,
			       "Metadata");
	else if (w->metadata)
		out = ks_metadata_only(a, out);
	json_write_to(b, json_packf(a, "{s:s,s:O}", "type", type, "object", out));
	buf_addc(b, '\n');
}

static bool relevant(const struct watch *w, struct arena *a, const json_t *obj)
{
	return obj && (!w->ns || streq(json_str_at(obj, "metadata.namespace"), w->ns)) &&
	       ks_matches(a, &w->sel, obj);
}

static void put_change(struct watch *w, struct ks *k, struct arena *a, struct buf *b,
		       const json_t *entry)
{
	const json_t *was = json_at(entry, "was");
	const json_t *now = json_at(entry, "now");
	const bool before = relevant(w, a, was);
	const bool after = relevant(w, a, now);

	if (after)
		put_event(w, k, a, b, before ? "MODIFIED" : "ADDED", now);
	else if (before && now) {
		/* It no longer matches: gone, as far as this watch can see. */
		json_t *last = json_own(a, json_deep_copy(was));

		json_put(last, "metadata.resourceVersion",
			 json_incref(json_at(now, "metadata.resourceVersion")));
		put_event(w, k, a, b, "DELETED", last);
	} else if (before) {
		put_event(w, k, a, b, "DELETED", was);
	}
}

static void put_bookmark(struct watch *w, struct ks *k, struct arena *a, struct buf *b,
			 bool initial)
{
	json_t *mark =
		json_packf(a, "{s:s,s:s,s:{s:o,s:n}}", "kind", w->kind.kind, "apiVersion",
			   w->api, "metadata", "resourceVersion",
			   json_sprintf("%lld", (long long)w->rv), "creationTimestamp");

	if (initial)
		json_put(mark, "metadata.annotations",
			 json_pack("{s:s}", "k8s.io/initial-events-end", "true"));
	put_event(w, k, a, b, "BOOKMARK", mark);
}

static void put_initial(struct watch *w, struct ks *k, struct arena *a, struct buf *b)
{
	const json_t *obj = NULL;
	size_t i = 0;

	json_array_foreach(w->initial, i, obj) {
		put_event(w, k, a, b, "ADDED", obj);
	}
	w->initial = NULL;
	if (w->initial_end)
		put_bookmark(w, k, a, b, true);
}

static void put_changes(struct watch *w, struct ks *k, struct arena *a, struct buf *b)
{
	const json_t *entry = NULL;
	size_t i = 0;

	json_array_foreach(ks_history(k), i, entry) {
		const int64_t rv = json_int_or(entry, "rv", 0);

		if (rv <= w->rv)
			continue;
		if (streq(json_str_at(entry, "resource"), w->resource))
			put_change(w, k, a, b, entry);
	}
	w->rv = ks_rv(k);
}

static void put_expired(struct arena *a, struct buf *b, int64_t version, int64_t floor)
{
	const char *why = arena_printf(a, "too old resource version: %lld (%lld)",
				       (long long)version, (long long)floor);

	json_write_to(b, json_packf(a, "{s:s,s:O}", "type", "ERROR", "object",
				    ks_status(a, 410, "Expired", why, NULL, NULL, NULL)));
	buf_addc(b, '\n');
}

static bool more(void *ctx, struct arena *a, const char **ret_p, size_t *ret_n)
{
	struct watch *w = ctx;
	struct ks k;
	struct buf b;

	*ret_n = 0;
	if (w->done)
		return false;
	/* Time passes for who only watches, too. */
	cloud_advance(w->cloud);
	if (!ks_by_name(w->cloud, w->cluster, &k) ||
	    !streq(json_str_at(k.root, "id"), w->uid))
		return false;
	buf_init(&b, a, PIECE_MAX);
	if (w->initial)
		put_initial(w, &k, a, &b);
	if (w->rv < ks_history_floor(&k)) {
		put_expired(a, &b, w->rv, ks_history_floor(&k));
		w->done = true;
	} else {
		put_changes(w, &k, a, &b);
	}
	if (!w->done && w->bookmarks && k.now_ms >= w->bookmark_ms) {
		put_bookmark(w, &k, a, &b, false);
		w->bookmark_ms = k.now_ms + BOOKMARK_MS;
	}
	*ret_p = buf_cstr(&b);
	*ret_n = b.len;
	w->done |= k.now_ms >= w->until_ms;
	return !w->done || b.len > 0;
}

static void more_end(void *ctx)
{
	struct watch *w = ctx;
	struct arena arena = w->arena;

	arena_free(&arena);
}

static const char *keep(struct watch *w, const char *z)
{
	return z ? arena_strdup(&w->arena, z) : NULL;
}

static struct watch *new_watch(struct ks_req *q)
{
	struct arena arena;
	struct watch *w = NULL;

	arena_init(&arena, 0);
	w = arena_new(&arena, struct watch);
	w->arena = arena;
	w->cloud = q->k.cloud;
	w->cluster = keep(w, q->k.name);
	w->uid = keep(w, json_str_at(q->k.root, "id"));
	w->kind = (struct ks_kind){
		.group = keep(w, q->kind->group),
		.version = keep(w, q->kind->version),
		.plural = keep(w, q->kind->plural),
		.kind = keep(w, q->kind->kind),
		.namespaced = q->kind->namespaced,
		.columns = q->kind->columns
				   ? json_own(&w->arena, json_deep_copy(q->kind->columns))
				   : NULL,
	};
	w->resource = keep(w, ks_resource(q->a, q->kind));
	w->api = keep(w, ks_api_version(q->a, q->kind));
	w->ns = keep(w, q->ns);
	w->sel = (struct ks_selector){keep(w, ks_query(q, "labelSelector")),
				      keep(w, ks_query(q, "fieldSelector"))};
	if (q->name) /* the old form: watch=true on one object */
		w->sel.field = arena_printf(&w->arena, "metadata.name=%s", q->name);
	w->table = ks_wants_table(q);
	w->metadata = ks_wants_metadata(q);
	w->bookmarks = streq(ks_query(q, "allowWatchBookmarks"), "true");
	return w;
}

static void load_initial(struct ks_req *q, struct watch *w)
{
	const char *key = NULL;
	json_t *obj = NULL;

	w->initial = json_new_list(&w->arena);
	json_object_foreach(ks_objects(&q->k, q->kind), key, obj) {
		if (relevant(w, q->a, obj))
			json_array_append(w->initial, obj);
	}
}

void ks_serve_watch(struct ks_req *q)
{
	const struct ks_selector sel = {ks_query(q, "labelSelector"),
					ks_query(q, "fieldSelector")};
	const char *seconds_text = ks_query(q, "timeoutSeconds");
	const bool send_initial = streq(ks_query(q, "sendInitialEvents"), "true");
	struct watch *w = NULL;
	int64_t rv = 0;
	int64_t seconds = WATCH_DEFAULT_S;

	if (!ks_selectors_fit(q, &sel) || !ks_version_asked(q, &rv))
		return;
	if (q->name && !ks_get(&q->k, q->kind, q->ns, q->name)) {
		ks_not_found(q);
		return;
	}
	if (seconds_text && (!str_to_i64(str_of(seconds_text), &seconds) || seconds <= 0))
		seconds = WATCH_DEFAULT_S;
	w = new_watch(q);
	/* Without a version, or with 0, a watch begins with what there is. */
	if (rv == 0 || send_initial)
		load_initial(q, w);
	w->initial_end = send_initial && w->bookmarks;
	w->rv = rv == 0 || send_initial ? ks_rv(&q->k) : rv;
	w->until_ms = q->k.now_ms + seconds * 1000;
	w->bookmark_ms = q->k.now_ms + BOOKMARK_MS;
	ks_answer_text(q, 200, "application/json;stream=watch", "");
	q->res->more = more;
	q->res->more_end = more_end;
	q->res->more_ctx = w;
}
