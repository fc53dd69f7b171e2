/* get_pod_logs: a bounded piece of a log, for reading and for downloading. */
#include <string.h>

#include "core/base/limits.h"
#include "core/base/mask.h"
#include "core/base/pattern.h"
#include "core/domain/pod/log_tail.h"
#include "core/domain/pod/pod.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"
#include "core/kube/lines.h"
#include "core/op/runner.h"

enum {
	/* Of the log in one reading, before it is filtered; none of it is kept. */
	FETCH_MAX = 64 * 1024 * 1024,
	/* Escaped and with what is no UTF-8 replaced it must fit an answer. */
	TEXT_MAX = 2 * 1024 * 1024,
	FETCH_LINES = 100000, /* that grep looks at */
	MATCH_MS = 1000,      /* for all lines */
	LINE_BYTES = 4096
};

struct get_logs {
	const char *cluster;
	const char *pod;
	const char *namespace;
	const char *container;
	bool previous;
	int64_t tail;
	const char *since;
	const char *grep;
	int64_t limit_bytes;
	bool timestamps;
};

static const struct field get_logs_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct get_logs, cluster),
	FIELD_POD(struct get_logs, pod, FIELD_PATH),
	FIELD_NAMESPACE(struct get_logs, namespace),
	FIELD_CONTAINER(struct get_logs, container),
	FIELD(struct get_logs, previous,
	      .doc = "Return the log of the previous container, before its last "
		     "restart."),
	FIELD(struct get_logs, tail, .min = 1, .max = 100000, .dflt = "200",
	      .unit = "lines", .doc = "Maximum number of lines, counted from the end."),
	FIELD(struct get_logs, since, .pattern = "[0-9T:.Z+-]{20,40}",
	      .example = "\"2026-01-02T03:04:05Z\"",
	      .doc = "Only lines from this time on, to the second."),
	FIELD(struct get_logs, grep, .min = 1, .max = 256, .example = "\"NCCL|error\"",
	      .doc = "Only lines that match this regular expression (PCRE)."),
	FIELD(struct get_logs, limit_bytes, .min = 256, .max = TEXT_MAX, .dflt = "4096",
	      .unit = "bytes",
	      .doc = "Maximum size of the text. Earlier text is cut. Use logs:download "
		     "for the whole log."),
	FIELD(struct get_logs, timestamps, .doc = "Prefix each line with its timestamp."),
	FIELD_END};

static const struct field get_logs_out[] = {
	OUT("pod", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the pod."),
	OUT("namespace", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Namespace of the pod."),
	OUT("container", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Name of the container."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "not_started, running or terminated."),
	OUT("reason", FIELD_STR, .doc = "Why the container is waiting or has ended."),
	OUT("exit_code", FIELD_INT, .doc = "Exit code of the last run."),
	OUT("restarts", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Number of restarts. If above 0, previous=true shows why."),
	OUT("previous", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether the text is from the previous container."),
	OUT("lines", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Number of lines returned."),
	OUT("truncated", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether the limits cut off earlier lines or the end of a long one."),
	OUT("first_time", FIELD_STR, .doc = "Time of the first line."),
	OUT("last_time", FIELD_STR,
	    .doc = "Time of the last line. Pass as since to continue."),
	OUT("text", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "The lines, oldest first, without control characters."),
	FIELD_END};

/* --- text ------------------------------------------------------------------------- */

struct wanted {
	struct pattern *pattern; /* NULL: every line */
	const char *grep;
	struct pattern_budget budget; /* for all lines */
};

static bool compile(struct call *c, const char *grep, struct wanted *w, struct err *e)
{
	const char *why;

	*w = (struct wanted){.grep = grep, .budget.left_ns = (int64_t)MATCH_MS * 1000000};
	if (!grep)
		return true;
	w->pattern = pattern_compile(c->arena, grep, &why);
	if (w->pattern)
		return true;
	err_set(e, ERR_INVALID_INPUT, "The regular expression is not valid: %s", why);
	return err_field(e, "/grep", grep, "a PCRE regular expression");
}

/* A line that cannot be judged in time is not left out in silence. */
static bool matches(struct wanted *w, struct str s, bool *ret, struct err *e)
{
	const size_t n = s.n < LINE_BYTES ? s.n : LINE_BYTES;
	enum pattern_result found = PATTERN_YES;

	if (w->pattern)
		found = pattern_match(w->pattern, (struct str){s.p, n}, &w->budget);
	*ret = found == PATTERN_YES;
	if (found != PATTERN_TOO_COSTLY)
		return true;
	err_set(e, ERR_INVALID_INPUT,
		"The regular expression takes too long: not all lines could be matched "
		"in %d ms of CPU time",
		MATCH_MS);
	err_field(e, "/grep", w->grep,
		  "an expression without nested repetitions such as (a+)+, or a smaller "
		  "tail");
	return err_fix(
		e, "Simplify the pattern, or download the log and search it locally.");
}

/* --- the container ----------------------------------------------------------------- */

static json_t *about(struct call *c, const struct get_logs *q, const json_t *pod,
		     const char *container)
{
	const json_t *s =
		json_find(json_at(pod, "status.containerStatuses"), "name", container);
	const json_t *end;
	const char *reason;
	json_t *out;

	if (!s)
		s = json_find(json_at(pod, "status.initContainerStatuses"), "name",
			      container);
	end = json_at(s, "state.terminated");
	if (!end)
		end = json_at(s, "lastState.terminated");
	out = json_packf(c->arena, "{s:s, s:s, s:s, s:s, s:I, s:b}", "pod", q->pod,
			 "namespace", q->namespace, "container", container, "state",
			 json_at(s, "state.running") ? "running"
			 : end                       ? "terminated"
						     : "not_started",
			 "restarts", (json_int_t)json_int_or(s, "restartCount", 0),
			 "previous", q->previous);
	reason = json_str_at(s, "state.waiting.reason");
	if (!reason)
		reason = json_str_at(end, "reason");
	json_put_str(out, "reason", reason ? reason : json_str_at(pod, "status.reason"));
	if (json_at(end, "exitCode"))
		json_put_int(out, "exit_code", json_int_or(end, "exitCode", 0));
	return out;
}

/* --- the log ----------------------------------------------------------------------- */

struct reading {
	struct call *c;
	struct wanted *wanted;
	struct log_tail tail;
	struct kube_lines lines;
	struct mask_lines mask;
	int64_t seen;    /* lines */
	size_t bytes;    /* that have come */
	int64_t stop_ms; /* no more of this one from then on */
	bool stopped, failed, cut;
	struct err *e;
};

static bool on_line(void *ctx, const char *p, size_t n, bool cut)
{
	struct reading *r = ctx;
	struct str time, text;
	bool wanted;

	log_line_split((struct str){p, n}, &time, &text);
	r->seen++;
	/* First: what is hidden must not be found by grep either. */
	text = mask_line(&r->mask, text, cut);
	if (!matches(r->wanted, text, &wanted, r->e)) {
		r->failed = true;
		return false;
	}
	if (wanted) {
		log_tail_add(&r->tail, time, text);
		r->cut = r->cut || cut;
	}
	return true;
}

static bool on_data(void *ctx, const char *p, size_t n)
{
	struct reading *r = ctx;

	r->bytes += n;
	if (r->bytes > FETCH_MAX || r->c->clock->mono_ms(r->c->clock) > r->stop_ms) {
		r->stopped = true;
		return false;
	}
	return kube_lines_feed(&r->lines, p, n);
}

static void begin(struct reading *r, int64_t until_ms)
{
	const int64_t now = r->c->clock->mono_ms(r->c->clock);

	log_tail_clear(&r->tail);
	mask_lines_restart(&r->mask);
	r->lines.len = 0;
	r->lines.skipping = false;
	r->seen = 0;
	r->bytes = 0;
	r->stopped = r->cut = false;
	r->stop_ms = now + (until_ms - now) / 2;
}

/*
 * Kubernetes gives the last N lines from the oldest of them on. When those are more
 * than can be read here, fewer of them are asked for: it is the newest that count.
 * No log yet is an answer, not a failure.
 */
static bool read_log(struct call *c, const struct kube_target *t,
		     const struct get_logs *q, const char *container, struct reading *x,
		     struct err *e)
{
	const int64_t until_ms = call_read_deadline(c);
	struct kube_request r = {.verb = KUBE_LOG,
				 .ns = q->namespace,
				 .name = q->pod,
				 .container = container,
				 .previous = q->previous,
				 .timestamps = true,
				 .since_time = q->since,
				 .tail_lines = q->grep ? FETCH_LINES : q->tail + 1,
				 .on_data = on_data,
				 .on_data_ctx = x};
	struct kube_result res;
	bool fewer = false;

	for (;;) {
		begin(x, until_ms);
		kube_call(c->cloud->kube, t, &r, c->arena, &res);
		if (!res.ok || x->failed || !x->stopped || r.tail_lines == 1)
			break;
		fewer = true;
		r.tail_lines = x->seen > 1 ? x->seen / 2 : 1;
	}
	if (x->failed)
		return false;
	if (res.ok) {
		kube_lines_end(&x->lines);
		x->cut = x->cut || fewer || x->seen >= r.tail_lines;
		return !x->failed;
	}
	if (res.status != 400)
		return kube_err(&r, &res, e);
	if (!q->previous)
		return true;
	err_set(e, ERR_NOT_FOUND, "The container %s has not been restarted", container);
	err_field(e, "/previous", "true", "false");
	return err_because(e, "kubernetes", res.code, res.message, res.audit_id);
}

static bool run_get_logs(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct get_logs *q = in;
	struct reading x = {.c = c, .e = e};
	struct kube_target t;
	struct wanted w;
	const char *container;
	json_t *pod, *out;

	if (!compile(c, q->grep, &w, e) || !pod_target(c, q->cluster, &t, NULL, e) ||
	    !pod_read(c, &t, q->namespace, q->pod, &pod, e) ||
	    !pod_container(pod, q->container, &container, e))
		return false;
	x.wanted = &w;
	log_tail_init(&x.tail, c->arena, q->tail, q->limit_bytes, q->timestamps);
	mask_lines_init(&x.mask, c->arena);
	kube_lines_init(&x.lines, c->arena, LOG_LINE_MAX, on_line, &x);
	if (!read_log(c, &t, q, container, &x, e))
		return false;
	out = about(c, q, pod, container);
	json_put_bool(out, "truncated", log_tail_give(&x.tail, out) || x.cut);
	reply_tree(c, ret, out);
	return true;
}

extern const struct capability cap_get_pod_logs;
const struct capability cap_get_pod_logs = {
	.name = "get_pod_logs",
	.method = "GET",
	.path = "/clusters/{cluster}/pods/{pod}/logs",
	.title = "Read a pod's log",
	.doc = "Returns the end of a container's log, filtered and limited. If the "
	       "container has not started, returns an empty text and the reason. For a "
	       "restarted container, previous=true shows why.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD,
	.in = get_logs_in,
	.in_size = sizeof(struct get_logs),
	.out = get_logs_out,
	.run = run_get_logs,
};
