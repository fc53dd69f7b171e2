#include "core/kube/helm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/child.h"
#include "core/base/mask.h"
#include "core/json/tree.h"
#include "core/kube/helm_folder.h"
#include "core/kube/manifest.h"
#include "core/kube/webhook.h"

enum {
	ARGS_MAX = 32,
	ENV_MAX = 16,
	HISTORY_KEPT = 5,
	KILL_MARGIN_S = 10,
	TEMPLATE_MS = 20000,
	MANIFEST_MAX = 8 * 1024 * 1024
};

bool helm_verb_mutates(enum helm_verb v)
{
	return v != HELM_TEMPLATE;
}

/* Who renders a chart asks nobody: somebody waits for that. */
static int64_t timeout_of(const struct helm *h, const struct helm_request *r)
{
	return r->verb == HELM_TEMPLATE && h->timeout_ms > TEMPLATE_MS ? TEMPLATE_MS
								       : h->timeout_ms;
}

struct words {
	const char *v[ARGS_MAX + 1];
	size_t n;
};

static void add(struct words *w, const char *z)
{
	if (w->n < ARGS_MAX)
		w->v[w->n++] = z;
}

static void add_two(struct words *w, const char *flag, const char *value)
{
	add(w, flag);
	add(w, value);
}

/* Names become arguments: one that begins with a dash would be a flag. */
static bool check(const struct helm_request *r, struct err *e)
{
	const char *const given[] = {r->release, r->ns, r->chart};
	const size_t n =
		r->verb == HELM_UPGRADE_INSTALL || r->verb == HELM_TEMPLATE ? 3 : 2;

	for (size_t i = 0; i < n; i++) {
		if (!given[i] || !*given[i] || given[i][0] == '-')
			return err_set(
				e, ERR_INVALID_INPUT,
				"Helm: \"%.64s\" is not a release, namespace or chart",
				given[i] ? given[i] : "");
	}
	return true;
}

/*
 * Objects are merged by Helm, not applied on the server's side, which is Helm 4's
 * default: a controller that writes into an object of the chart (the rules of an
 * aggregated ClusterRole) would conflict with every upgrade and rollback for ever.
 */
static void upgrade_words(const struct helm_request *r, const struct helm_folder *f,
			  struct arena *a, struct words *w)
{
	add(w, "upgrade");
	add(w, "--install");
	add(w, "--create-namespace");
	add_two(w, "--history-max", arena_printf(a, "%d", HISTORY_KEPT));
	add_two(w, "--server-side", "false");
	if (r->take_ownership)
		add(w, "--take-ownership");
	if (f->values)
		add_two(w, "--values", f->values);
	if (r->labels)
		add_two(w, "--labels", r->labels);
	if (f->renderer)
		add_two(w, "--post-renderer", f->renderer);
}

static void template_words(const struct helm_request *r, const struct helm_folder *f,
			   struct words *w)
{
	add(w, "template");
	/* Neither hooks nor definitions are asked whose they are. */
	add(w, "--no-hooks");
	if (f->values)
		add_two(w, "--values", f->values);
	if (r->kube_version)
		add_two(w, "--kube-version", r->kube_version);
}

static void arguments(const struct helm *h, const struct helm_request *r,
		      const struct helm_folder *f, struct arena *a, struct words *w)
{
	const int64_t seconds = timeout_of(h, r) / 1000 - KILL_MARGIN_S;

	add(w, "helm");
	switch (r->verb) {
	case HELM_UPGRADE_INSTALL:
		upgrade_words(r, f, a, w);
		break;
	case HELM_UNINSTALL:
		add(w, "uninstall");
		add(w, "--ignore-not-found");
		break;
	case HELM_ROLLBACK:
		add(w, "rollback");
		add_two(w, "--history-max", arena_printf(a, "%d", HISTORY_KEPT));
		add_two(w, "--server-side", "false");
		break;
	case HELM_TEMPLATE:
		template_words(r, f, w);
		break;
	}
	add_two(w, "--namespace", r->ns);
	/* Helm gives up on a hook before we kill it, and records the failure. */
	add_two(w, "--timeout",
		arena_printf(a, "%" PRId64 "s", seconds > 1 ? seconds : 1));
	add_two(w, "--color", "never");
	add(w, "--");
	add(w, r->release);
	if (r->verb == HELM_UPGRADE_INSTALL || r->verb == HELM_TEMPLATE)
		add(w, r->chart);
	if (r->verb == HELM_ROLLBACK && r->revision > 0)
		add(w, arena_printf(a, "%" PRId64, r->revision));
}

/* Nothing of ours but how to get out: credentials stay with the poller. */
static void environment(const struct helm_folder *f, struct arena *a, struct words *w)
{
	static const char *const kept[] = {"HTTPS_PROXY",   "HTTP_PROXY",  "NO_PROXY",
					   "https_proxy",   "http_proxy",  "no_proxy",
					   "SSL_CERT_FILE", "SSL_CERT_DIR"};
	static const char *const homes[] = {"HOME", "TMPDIR", "HELM_CACHE_HOME",
					    "HELM_CONFIG_HOME", "HELM_DATA_HOME"};

	add(w, "PATH=/usr/bin:/bin");
	add(w, arena_printf(a, "KUBECONFIG=/proc/self/fd/%d", CHILD_KEPT));
	if (f->plugins)
		add(w, arena_printf(a, "HELM_PLUGINS=%s", f->plugins));
	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++)
		add(w, arena_printf(a, "%s=%s", homes[i], f->path));
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		const char *value = getenv(kept[i]);

		if (value)
			add(w, arena_printf(a, "%s=%s", kept[i], value));
	}
}

static const struct {
	const char *says;
	enum errc errc;
	bool ambiguous;
} failures[] = {
	/* Before all others: why nobody answers is said behind it. */
	{KUBE_WEBHOOK_FAILED, ERR_WEBHOOK_UNSERVED, false},
	{"another operation (install/upgrade/rollback) is in progress",
	 ERR_CLOUD_CONFLICT, false},
	{"Unauthorized", ERR_CREDENTIALS, false},
	{"the server has asked for the client to provide credentials", ERR_CREDENTIALS,
	 false},
	/* Kubernetes says both in one sentence; only the first is temporary. */
	{"because it is being terminated", ERR_CLOUD_CONFLICT, false},
	{"is forbidden", ERR_CLOUD_DENIED, false},
	{"context deadline exceeded", ERR_AMBIGUOUS, true},
	{"i/o timeout", ERR_AMBIGUOUS, true},
	{"unexpected EOF", ERR_AMBIGUOUS, true},
	{"connection reset", ERR_AMBIGUOUS, true},
	{"cluster unreachable", ERR_CLOUD_UNREACHABLE, false},
	/* Not its look before it begins: it stopped midway. */
	{"no such host", ERR_AMBIGUOUS, true},
	{"connection refused", ERR_AMBIGUOUS, true},
	{"conflict with", ERR_FOREIGN_OBJECT, false},
	{"conflicts with", ERR_FOREIGN_OBJECT, false}, /* of more than one field */
	{"exists and cannot be imported", ERR_FOREIGN_OBJECT, false},
};

/* What a chart or its cluster says may hold anything: bytes, and secrets. */
static void judge(const struct child_end *end, const char *token, struct arena *a,
		  struct helm_result *ret)
{
	const char *said = str_as_utf8(a, str_dup(a, str_trim(str_of(end->tail))));
	struct mask_known known = {0};

	mask_know(&known, secret_of(token));
	*ret = (struct helm_result){.exit_code = end->exit_code,
				    .output = mask_z(a, said, &known)};
	if (end->timed_out || end->signal) {
		ret->ambiguous = true;
		ret->errc = ERR_AMBIGUOUS;
		return;
	}
	ret->ok = end->exit_code == 0;
	if (ret->ok)
		return;
	ret->errc = ERR_DEPENDENCY_FAILED;
	if (end->exit_code == CHILD_NOT_RUN && !*ret->output) {
		ret->errc = ERR_CONFIG;
		ret->output =
			"the Helm binary cannot be run: set INSTANTSTART_HELM to its "
			"absolute path";
		return;
	}
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		if (!strstr(end->tail, failures[i].says))
			continue;
		ret->errc = failures[i].errc;
		ret->ambiguous = failures[i].ambiguous;
		return;
	}
}

static void fail(const struct err *e, struct arena *a, struct helm_result *ret)
{
	*ret = (struct helm_result){
		.exit_code = -1, .output = arena_strdup(a, e->detail), .errc = e->code};
}

/* Nothing was sent: whatever became of it may be tried again. */
static void judge_template(const struct helm_request *r, const struct child_end *end,
			   struct arena *a, struct helm_result *ret)
{
	ret->ambiguous = false;
	if (end->out_too_long) {
		ret->ok = false;
		ret->errc = ERR_DEPENDENCY_FAILED;
		ret->output = arena_printf(a, "the chart renders more than %d MiB",
					   MANIFEST_MAX >> 20);
	} else if (ret->ok) {
		ret->out =
			manifest_objects((struct str){end->out, end->out_len}, r->ns, a);
	} else if (ret->errc == ERR_AMBIGUOUS) {
		ret->errc = ERR_DEPENDENCY_FAILED;
	}
}

static void run(struct helm *h, const struct kube_target *t, const char *token,
		const struct helm_request *r, struct arena *a, struct helm_result *ret)
{
	struct words argv = {0};
	struct words env = {0};
	struct arena unit; /* its end removes the folder */
	struct helm_folder folder;
	struct child_end end;
	struct err e;

	arena_init(&unit, 0);
	if (!check(r, &e) || !helm_folder_make(&unit, h, t, token, r, &folder, &e)) {
		fail(&e, a, ret);
		arena_free(&unit);
		return;
	}
	arguments(h, r, &folder, &unit, &argv);
	environment(&folder, &unit, &env);
	if (child_run(&(struct child){.binary = h->binary,
				      .argv = argv.v,
				      .env = env.v,
				      .folder = folder.path,
				      .keep_fd = folder.kubeconfig_fd,
				      .timeout_ms = timeout_of(h, r),
				      .out_max = r->verb == HELM_TEMPLATE ? MANIFEST_MAX
									  : 0},
		      &unit, &end, &e)) {
		judge(&end, token, a, ret);
		if (r->verb == HELM_TEMPLATE)
			judge_template(r, &end, a, ret);
	} else {
		fail(&e, a, ret);
	}
	arena_free(&unit);
}

void helm_call(struct helm *h, struct kube *k, const struct kube_target *t,
	       const struct helm_request *r, struct arena *a, struct helm_result *ret)
{
	struct secret token;
	struct err e;

	if (!kube_token(k, t, a, &token, &e)) {
		fail(&e, a, ret);
		return;
	}
	(h->run ? h->run : run)(h, t, secret_reveal(token), r, a, ret);
}
