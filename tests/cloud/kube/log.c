#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "tests/cloud/kube/server.h"

/*
 * What a container writes: one line every LINE_MS from its start, generated, so
 * that following a log is a matter of the clock alone; or the lines that the
 * setting "kube_logs": {"ns/pod/container": ["…"]} gives. A restarted container
 * begins anew; what it wrote before is its previous log.
 */
enum { LINE_MS = 1000, LOG_MAX = 8 * 1024 * 1024, LINES_MAX = 100000 };

struct log {
	struct arena arena; /* a followed log lies in it itself */
	struct cloud *cloud;
	const char *cluster, *ns, *pod, *container;
	bool timestamps;
	bool previous;    /* of the run before */
	int64_t restarts; /* of the container when it began to be followed */
	int64_t next;     /* number of the line to come */
};

static const json_t *status_of(const json_t *pod, const char *container)
{
	return json_find(json_at(pod, "status.containerStatuses"), "name", container);
}

static const json_t *scripted(struct cloud *c, const struct log *l)
{
	struct arena a;
	const json_t *lines = NULL;

	arena_init(&a, 0);
	lines = json_object_get(
		json_at(cloud_settings(c), "kube_logs"),
		arena_printf(&a, "%s/%s/%s", l->ns, l->pod, l->container));
	arena_free(&a);
	return lines;
}

static int64_t time_at(const json_t *status, const char *path, int64_t fallback)
{
	int64_t at = fallback;
	const char *text = json_str_at(status, path);

	return text && time_parse_rfc3339(text, &at) ? at : fallback;
}

static int64_t started_ms(const struct log *l, const json_t *status, int64_t now_ms)
{
	if (l->previous)
		return time_at(status, "lastState.terminated.startedAt", now_ms);
	return time_at(status, "state.running.startedAt",
		       time_at(status, "state.terminated.startedAt", now_ms));
}

static int64_t ended_ms(const struct log *l, const json_t *status, int64_t now_ms)
{
	if (l->previous)
		return time_at(status, "lastState.terminated.finishedAt", now_ms);
	return time_at(status, "state.terminated.finishedAt", now_ms);
}

/* How many lines there are by now. */
static int64_t lines_by(struct ks *k, const struct log *l, const json_t *status)
{
	const json_t *own = l->previous ? NULL : scripted(k->cloud, l);
	const int64_t n =
		(ended_ms(l, status, k->now_ms) - started_ms(l, status, k->now_ms)) /
			LINE_MS +
		1;

	if (own)
		return (int64_t)json_array_size(own);
	return n < LINES_MAX ? n : LINES_MAX;
}

static const char *line_text(struct ks *k, struct arena *a, const struct log *l,
			     const json_t *status, int64_t i)
{
	const json_t *own = l->previous ? NULL : scripted(k->cloud, l);
	const char *said = json_str_at(status, "state.terminated.message");

	if (own)
		return json_string_value(json_array_get(own, (size_t)i));
	if (said && i + 1 == lines_by(k, l, status))
		return said;
	return i == 0 ? arena_printf(a, "%s started", l->container)
		      : arena_printf(a, "%s: step=%lld", l->container, (long long)i);
}

static int64_t line_ms(const struct log *l, const json_t *status, int64_t i,
		       int64_t now_ms)
{
	return started_ms(l, status, now_ms) + i * LINE_MS;
}

static void put_line(struct ks *k, struct arena *a, const struct log *l,
		     const json_t *status, int64_t i, struct buf *b)
{
	char when[TIME_TEXT];

	if (l->timestamps) {
		time_rfc3339(line_ms(l, status, i, k->now_ms), when);
		buf_printf(b, "%.23s000000Z ", when);
	}
	buf_adds(b, line_text(k, a, l, status, i));
	buf_addc(b, '\n');
}

static bool more(void *ctx, struct arena *a, const char **ret_p, size_t *ret_n)
{
	struct log *l = ctx;
	struct ks k;
	struct buf b;
	const json_t *pod = NULL;
	const json_t *status = NULL;

	*ret_n = 0;
	/* Time passes for who only watches, too. */
	cloud_advance(l->cloud);
	if (!ks_by_name(l->cloud, l->cluster, &k))
		return false;
	pod = ks_at(&k, "/pods", l->ns, l->pod);
	status = status_of(pod, l->container);
	if (!status)
		return false;
	/* The rest of the run that was followed; then that is the end. */
	if (json_int_or(status, "restartCount", 0) != l->restarts)
		l->previous = true;
	buf_init(&b, a, LOG_MAX);
	for (const int64_t n = lines_by(&k, l, status); l->next < n; l->next++)
		put_line(&k, a, l, status, l->next, &b);
	*ret_p = buf_cstr(&b);
	*ret_n = b.len;
	return (json_at(status, "state.running") && !l->previous) || b.len > 0;
}

static void more_end(void *ctx)
{
	struct log *l = ctx;
	struct arena arena = l->arena;

	arena_free(&arena);
}

static int64_t number(struct ks_req *q, const char *name, int64_t fallback)
{
	int64_t n = fallback;
	const char *text = ks_query(q, name);

	return text && str_to_i64(str_of(text), &n) ? n : fallback;
}

/* First line to be shown: by tailLines, sinceTime and sinceSeconds. */
static int64_t first_line(struct ks_req *q, const struct log *l, const json_t *status,
			  int64_t n)
{
	const int64_t tail = number(q, "tailLines", -1);
	const int64_t seconds = number(q, "sinceSeconds", -1);
	const char *since = ks_query(q, "sinceTime");
	int64_t from_ms = 0;
	int64_t first = tail >= 0 && tail < n ? n - tail : 0;

	if (seconds > 0)
		from_ms = q->k.now_ms - seconds * 1000;
	if (since && !time_parse_rfc3339(since, &from_ms))
		from_ms = 0;
	while (from_ms > 0 && first < n &&
	       line_ms(l, status, first, q->k.now_ms) / 1000 < from_ms / 1000)
		first++;
	return first;
}

static const char *container_of(struct ks_req *q, const json_t *pod)
{
	const char *given = ks_query(q, "container");
	const json_t *c = NULL;
	const char *all = "";
	size_t i = 0;

	if (given && *given) {
		if (json_find(json_at(pod, "spec.containers"), "name", given))
			return given;
		ks_fail(q, 400, "BadRequest", "container %s is not valid for pod %s",
			given, q->name);
		return NULL;
	}
	if (json_len_at(pod, "spec.containers") == 1)
		return json_str_at(pod, "spec.containers.0.name");
	json_array_foreach(json_at(pod, "spec.containers"), i, c) {
		all = arena_printf(q->a, "%s%s%s", all, i ? " " : "",
				   json_str_or(c, "name", ""));
	}
	ks_fail(q, 400, "BadRequest",
		"a container name must be specified for pod %s, choose one of: [%s]",
		q->name, all);
	return NULL;
}

static void plain(struct ks_req *q, struct log *l, const json_t *status)
{
	const int64_t n = lines_by(&q->k, l, status);
	const int64_t limit = number(q, "limitBytes", LOG_MAX);
	struct buf b;

	buf_init(&b, q->a, LOG_MAX);
	for (int64_t i = l->next; i < n; i++)
		put_line(&q->k, q->a, l, status, i, &b);
	if (limit >= 0 && (size_t)limit < b.len)
		buf_truncate(&b, (size_t)limit);
	ks_answer_text(q, 200, "text/plain", buf_cstr(&b));
}

static struct log *keep(struct ks_req *q, const struct log *l)
{
	struct arena arena;
	struct log *k = NULL;

	arena_init(&arena, 0);
	k = arena_new(&arena, struct log);
	*k = *l;
	k->arena = arena;
	k->cluster = arena_strdup(&k->arena, q->k.name);
	k->ns = arena_strdup(&k->arena, l->ns);
	k->pod = arena_strdup(&k->arena, l->pod);
	k->container = arena_strdup(&k->arena, l->container);
	return k;
}

static bool options_valid(struct ks_req *q)
{
	static const struct {
		const char *name;
		int64_t least;
	} numbers[] = {{"tailLines", 0}, {"limitBytes", 1}, {"sinceSeconds", 1}};
	json_t *causes = json_new_list(q->a);

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const char *text = ks_query(q, numbers[i].name);
		int64_t n = 0;

		if (!text)
			continue;
		if (!str_to_i64(str_of(text), &n))
			return ks_fail(q, 400, "BadRequest",
				       "strconv.ParseInt: parsing \"%s\": invalid syntax",
				       text);
		if (n < numbers[i].least)
			ks_add_cause(
				causes, "FieldValueInvalid", numbers[i].name,
				arena_printf(q->a,
					     "Invalid value: %lld: must be greater than "
					     "%sto %lld",
					     (long long)n, n < 0 ? "or equal " : "",
					     (long long)numbers[i].least));
	}
	if (ks_query(q, "sinceSeconds") && ks_query(q, "sinceTime"))
		ks_add_cause(
			causes, "FieldValueForbidden", "[]",
			"Forbidden: at most one of `sinceTime` or `sinceSeconds` may be "
			"specified");
	return json_array_size(causes) == 0 ||
	       ks_invalid_as(q, "", "PodLogOptions", q->name, causes);
}

void ks_serve_log(struct ks_req *q)
{
	const json_t *pod = ks_get(&q->k, q->kind, q->ns, q->name);
	const json_t *status = NULL;
	struct log l = {
		.cloud = q->k.cloud, .cluster = q->k.name, .ns = q->ns, .pod = q->name};

	if (!pod) {
		ks_not_found(q);
		return;
	}
	if (!options_valid(q))
		return;
	l.container = container_of(q, pod);
	if (!l.container)
		return;
	/* Nobody to ask. */
	if (!json_str_at(pod, "spec.nodeName")) {
		ks_answer_text(q, 204, "text/plain", "");
		return;
	}
	status = status_of(pod, l.container);
	l.previous = streq(ks_query(q, "previous"), "true");
	l.restarts = json_int_or(status, "restartCount", 0);
	if (l.previous && !json_at(status, "lastState.terminated")) {
		ks_fail(q, 400, "BadRequest",
			"previous terminated container \"%s\" in pod \"%s\" not found",
			l.container, q->name);
		return;
	}
	if (!json_at(status, "state.running") && !json_at(status, "state.terminated")) {
		ks_fail(q, 400, "BadRequest",
			"container \"%s\" in pod \"%s\" is waiting to start: %s",
			l.container, q->name,
			json_str_or(status, "state.waiting.reason", "ContainerCreating"));
		return;
	}
	l.timestamps = streq(ks_query(q, "timestamps"), "true");
	l.next = first_line(q, &l, status, lines_by(&q->k, &l, status));
	if (l.previous || !streq(ks_query(q, "follow"), "true")) {
		plain(q, &l, status);
		return;
	}
	ks_answer_text(q, 200, "text/plain", "");
	q->res->more = more;
	q->res->more_end = more_end;
	q->res->more_ctx = keep(q, &l);
}
