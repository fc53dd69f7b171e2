#include "core/kube/watch.h"

#include <string.h>

#include "core/json/mask_tree.h"
#include "core/json/tree.h"

static bool stop(struct kube_watch *w, enum kube_watch_end end, const char *why)
{
	w->end = end;
	str_copy(w->reason, sizeof(w->reason), why);
	return false;
}

static bool take_error(struct kube_watch *w, const json_t *status)
{
	const char *reason = json_str_or(status, "reason", "");
	const bool old = json_int_or(status, "code", 0) == 410 ||
			 streq(reason, "Expired") || streq(reason, "Gone");

	return stop(w, old ? KUBE_WATCH_RELIST : KUBE_WATCH_REFUSED,
		    json_str_or(status, "message", reason));
}

static bool change_of(const char *type, enum kube_change *ret)
{
	static const char *const names[] = {
		[KUBE_ADDED] = "ADDED",
		[KUBE_MODIFIED] = "MODIFIED",
		[KUBE_DELETED] = "DELETED",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!streq(type, names[i]))
			continue;
		*ret = (enum kube_change)i;
		return true;
	}
	return false;
}

static bool take_document(struct kube_watch *w, const json_t *doc)
{
	const char *type = json_str_at(doc, "type");
	const json_t *object = json_at(doc, "object");
	const char *version = json_str_at(object, "metadata.resourceVersion");
	enum kube_change change;

	if (streq(type, "ERROR"))
		return take_error(w, object);
	if (!version || strlen(version) >= KUBE_RV_MAX)
		return stop(w, KUBE_WATCH_RELIST, "a change without a version");
	if (streq(type, "BOOKMARK")) {
		str_copy(w->resource_version, KUBE_RV_MAX, version);
		return true;
	}
	if (!change_of(type, &change))
		return stop(w, KUBE_WATCH_RELIST, "a change of unknown type");
	/* Only a change that was taken counts as seen. */
	if (!w->on_change(w->ctx, change, object))
		return false;
	str_copy(w->resource_version, KUBE_RV_MAX, version);
	return true;
}

static bool on_line(void *ctx, const char *p, size_t n, bool cut)
{
	struct kube_watch *w = ctx;
	struct err e;
	json_t *doc = NULL;

	if (n == 0)
		return true;
	if (cut)
		return stop(w, KUBE_WATCH_RELIST, "the document is too large");
	arena_reset(&w->doc);
	doc = json_parse(&w->doc, (struct str){p, n}, &e);
	if (!doc)
		return stop(w, KUBE_WATCH_RELIST, e.detail);
	mask_tree(&w->doc, doc, NULL);
	return take_document(w, doc);
}

void kube_watch_init(struct kube_watch *w, struct arena *a,
		     bool (*on_change)(void *ctx, enum kube_change change,
				       const json_t *object),
		     void *ctx)
{
	*w = (struct kube_watch){.on_change = on_change, .ctx = ctx};
	arena_init(&w->doc, 0);
	kube_lines_init(&w->lines, a, KUBE_WATCH_DOC_MAX, on_line, w);
}

void kube_watch_start(struct kube_watch *w, const char *resource_version)
{
	if (resource_version != w->resource_version)
		str_copy(w->resource_version, KUBE_RV_MAX,
			 resource_version ? resource_version : "");
	w->reason[0] = '\0';
	w->end = KUBE_WATCH_RESUME;
	w->lines.len = 0;
	w->lines.skipping = false;
}

bool kube_watch_feed(void *watch, const char *p, size_t n)
{
	struct kube_watch *w = watch;

	return kube_lines_feed(&w->lines, p, n);
}

enum kube_watch_end kube_watch_finish(struct kube_watch *w, int http_status)
{
	/* A document that the connection cut in two is sent again on resume. */
	if (w->end != KUBE_WATCH_RESUME || http_status == 0 ||
	    (http_status >= 200 && http_status < 300))
		return w->end;
	if (http_status == 410)
		stop(w, KUBE_WATCH_RELIST, "too old a version");
	else
		stop(w, KUBE_WATCH_REFUSED, "the server refused the watch");
	return w->end;
}

void kube_watch_free(struct kube_watch *w)
{
	arena_free(&w->doc);
}
