/* get_pod_logs: a bounded piece of a log, for reading and for downloading. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/domain/cluster/cluster_in.h"
#include "core/domain/pod/pod.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

enum {
	FETCH_MAX = 8 * 1024 * 1024, /* of the log, before it is filtered */
	/* Escaped and with what is no UTF-8 replaced it must fit an answer. */
	TEXT_MAX = 2 * 1024 * 1024,
	FETCH_LINES = 100000, /* that grep looks at */
	MATCH_LIMIT = 100000, /* of backtracking in one line */
	MATCH_KB = 4096,
	MATCH_MS = 3000, /* for all lines */
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
	      .doc = "Of the container before its last restart: why it was restarted."),
	FIELD(struct get_logs, tail, .min = 1, .max = 100000, .dflt = "200",
	      .unit = "lines", .doc = "Most lines, counted from the end."),
	FIELD(struct get_logs, since, .pattern = "[0-9T:.Z+-]{20,40}",
	      .example = "\"2026-01-02T03:04:05Z\"",
	      .doc = "Only lines from this time on; seconds count."),
	FIELD(struct get_logs, grep, .min = 1, .max = 256, .example = "\"NCCL|error\"",
	      .doc = "Only lines that this regular expression matches (PCRE)."),
	FIELD(struct get_logs, limit_bytes, .min = 256, .max = TEXT_MAX, .dflt = "4096",
	      .unit = "bytes",
	      .doc = "Most text; of more, the end is given. All of a log gives "
		     "logs:download."),
	FIELD(struct get_logs, timestamps, .doc = "Each line begins with its time."),
	FIELD_END};

static const struct field get_logs_out[] = {
	OUT("pod", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "The pod."),
	OUT("namespace", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Its namespace."),
	OUT("container", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "The container."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "not_started, running or terminated: of the container now."),
	OUT("reason", FIELD_STR, .doc = "Why it waits or has ended."),
	OUT("exit_code", FIELD_INT, .doc = "Of its last end."),
	OUT("restarts", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "How often it was started anew; above 0, previous=true shows why."),
	OUT("previous", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "The text is of the container before."),
	OUT("lines", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "Lines given."),
	OUT("truncated", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "There are earlier lines that the limits cut off."),
	OUT("first_time", FIELD_STR, .doc = "Time of the first line given."),
	OUT("last_time", FIELD_STR,
	    .doc = "Time of the last line given: since=, to go on from there."),
	OUT("text", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "The lines, oldest first, without control characters."),
	FIELD_END};

/* --- text ------------------------------------------------------------------------- */

struct piece {
	struct str time, text;
};

struct wanted {
	pcre2_code *code; /* NULL: every line */
	pcre2_match_data *data;
	pcre2_match_context *context;
	const char *grep;
	int64_t until_ms;
};

static void free_code(void *p)
{
	pcre2_code_free(p);
}

static void free_data(void *p)
{
	pcre2_match_data_free(p);
}

static void free_context(void *p)
{
	pcre2_match_context_free(p);
}

static bool compile(struct call *c, const char *grep, struct wanted *w, struct err *e)
{
	PCRE2_UCHAR why[160];
	PCRE2_SIZE at;
	int code;

	*w = (struct wanted){0};
	if (!grep)
		return true;
	w->code = pcre2_compile((PCRE2_SPTR)grep, PCRE2_ZERO_TERMINATED, 0, &code, &at,
				NULL);
	if (!w->code) {
		pcre2_get_error_message(code, why, sizeof(why));
		err_set(e, ERR_INVALID_INPUT, "The regular expression is not valid: %s",
			(const char *)why);
		return err_field(e, "/grep", grep, "a PCRE regular expression");
	}
	arena_defer(c->arena, free_code, w->code);
	w->data = pcre2_match_data_create_from_pattern(w->code, NULL);
	w->context = pcre2_match_context_create(NULL);
	arena_defer(c->arena, free_data, w->data);
	arena_defer(c->arena, free_context, w->context);
	pcre2_set_match_limit(w->context, MATCH_LIMIT);
	pcre2_set_heap_limit(w->context, MATCH_KB);
	w->grep = grep;
	w->until_ms = c->clock->mono_ms(c->clock) + MATCH_MS;
	return true;
}

static bool too_costly(const struct wanted *w, const char *why, struct err *e)
{
	err_set(e, ERR_INVALID_INPUT, "The regular expression takes too long: %s", why);
	err_field(e, "/grep", w->grep,
		  "one without nested repetitions, such as (a+)+; or a smaller tail");
	return false;
}

/* A line that cannot be judged in time is not left out in silence. */
static bool matches(struct call *c, const struct wanted *w, struct str s, bool *ret,
		    struct err *e)
{
	const size_t n = s.n < LINE_BYTES ? s.n : LINE_BYTES;
	int found;

	*ret = true;
	if (!w->code)
		return true;
	if (c->clock->mono_ms(c->clock) > w->until_ms)
		return too_costly(w, "not all lines were looked at in 3 seconds", e);
	found = pcre2_match(w->code, (PCRE2_SPTR)s.p, n, 0, 0, w->data, w->context);
	*ret = found >= 0;
	if (found == PCRE2_ERROR_MATCHLIMIT || found == PCRE2_ERROR_HEAPLIMIT ||
	    found == PCRE2_ERROR_DEPTHLIMIT)
		return too_costly(w, "one line has too many ways to match", e);
	return true;
}

/* Tabs stay; other controls, escape sequences of colours too, and what is no
 * UTF-8 go. */
static void add_clean(struct buf *b, struct str s)
{
	while (s.n > 0) {
		const unsigned char ch = (unsigned char)*s.p;
		size_t n = 1;

		if (ch == 0x1b && s.n > 1 && s.p[1] == '[') {
			for (n = 2; n < s.n && !(s.p[n] >= '@' && s.p[n] <= '~'); n++)
				;
			n = n < s.n ? n + 1 : s.n;
		} else if (ch >= 0x80) {
			n = str_utf8_sequence(s);
			if (n > 0)
				buf_add(b, s.p, n);
			else
				buf_adds(b, "\xef\xbf\xbd");
			n = n > 0 ? n : 1;
		} else if (ch == '\t' || (ch >= 0x20 && ch != 0x7f)) {
			buf_addc(b, (char)ch);
		}
		s.p += n;
		s.n -= n;
	}
}

static struct piece split(struct str line)
{
	struct str rest = line;
	const struct str time = str_cut(&rest, ' ');

	if (line.n && line.p[line.n - 1] == '\r' && rest.n)
		rest.n--;
	return (struct piece){time, rest.p ? rest : (struct str){"", 0}};
}

/* The last lines that are wanted, and fit. */
static bool pick(struct call *c, const struct get_logs *q, const struct wanted *w,
		 struct str text, bool cut, json_t *out, struct err *e)
{
	struct piece *kept = arena_array(c->arena, struct piece, (size_t)q->tail);
	int64_t n = 0, first, bytes = 0, lines = 0;
	struct buf b;

	while (text.p && text.n > 0) {
		const struct piece p = split(str_cut(&text, '\n'));

		bool wanted;

		if (!matches(c, w, p.text, &wanted, e))
			return false;
		if (wanted)
			kept[n++ % q->tail] = p;
	}
	first = n;
	while (first > 0 && n - first < q->tail) {
		const struct piece *p = &kept[(first - 1) % q->tail];
		const int64_t size =
			(int64_t)(p->text.n + 1 + (q->timestamps ? p->time.n + 1 : 0));

		if (bytes + size > q->limit_bytes)
			break;
		bytes += size;
		first--;
	}
	buf_init(&b, c->arena, (size_t)q->limit_bytes * 3 + 1);
	for (int64_t i = first; i < n; i++, lines++) {
		const struct piece *p = &kept[i % q->tail];

		if (q->timestamps) {
			buf_add_str(&b, p->time);
			buf_addc(&b, ' ');
		}
		add_clean(&b, p->text);
		buf_addc(&b, '\n');
	}
	json_put_int(out, "lines", lines);
	json_put_bool(out, "truncated", first > 0 || cut);
	if (lines > 0) {
		json_put_str(out, "first_time",
			     str_dup(c->arena, kept[first % q->tail].time));
		json_put_str(out, "last_time",
			     str_dup(c->arena, kept[(n - 1) % q->tail].time));
	}
	json_put(out, "text", json_stringn(b.len ? b.p : "", b.len));
	return true;
}

/* --- the container -------------------------------------------------------------------
 */

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

/* No log yet is an answer, not a failure. */
static bool read_log(struct call *c, const struct kube_target *t,
		     const struct get_logs *q, const char *container, const char **ret,
		     struct err *e)
{
	const struct kube_request r = {.verb = KUBE_LOG,
				       .ns = q->namespace,
				       .name = q->pod,
				       .container = container,
				       .previous = q->previous,
				       .timestamps = true,
				       .since_time = q->since,
				       .tail_lines = q->grep ? FETCH_LINES : q->tail + 1,
				       .limit_bytes = FETCH_MAX};
	struct kube_result res;

	kube_call(c->cloud->kube, t, &r, c->arena, &res);
	*ret = res.text ? res.text : "";
	if (res.ok)
		return true;
	if (res.status != 400)
		return kube_err(&r, &res, e);
	*ret = "";
	if (!q->previous)
		return true;
	err_set(e, ERR_NOT_FOUND, "the container %s has not been restarted", container);
	err_field(e, "/previous", "true", "false");
	return err_because(e, "kubernetes", res.code, res.message, res.audit_id);
}

static bool run_get_logs(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct get_logs *q = in;
	struct kube_target t;
	struct wanted w;
	const char *container, *text;
	json_t *pod, *out;

	if (!compile(c, q->grep, &w, e) || !pod_target(c, q->cluster, &t, NULL, e) ||
	    !pod_read(c, &t, q->namespace, q->pod, &pod, e) ||
	    !pod_container(pod, q->container, &container, e) ||
	    !read_log(c, &t, q, container, &text, e))
		return false;
	out = about(c, q, pod, container);
	if (!pick(c, q, &w, str_of(text), strlen(text) >= FETCH_MAX, out, e))
		return false;
	reply_tree(c, ret, out);
	return true;
}

extern const struct capability cap_get_pod_logs;
const struct capability cap_get_pod_logs = {
	.name = "get_pod_logs",
	.method = "GET",
	.path = "/clusters/{cluster}/pods/{pod}/logs",
	.title = "Read a pod's log",
	.doc = "The end of a container's log, filtered and bounded. A container that has not "
	       "begun gives an empty text and the reason; a restarted one shows with "
	       "previous=true why.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD,
	.in = get_logs_in,
	.in_size = sizeof(struct get_logs),
	.out = get_logs_out,
	.run = run_get_logs,
};
