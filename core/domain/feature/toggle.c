#include "core/domain/feature/toggle.h"

#include "core/base/listing.h"
#include "core/domain/dependency/install.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

const struct feature *toggle_feature(const struct step_ctx *c)
{
	const struct feature *f = feature_find(step_input(c, "feature"));

	return f ? f : &features[FEATURE_TRAINING];
}

bool toggle_is_enabling(const struct step_ctx *c)
{
	return json_bool_or(c->input, "enabled", true);
}

/* --- and back ---------------------------------------------------------------------- */

void toggle_note(struct step_ctx *c, bool was_on)
{
	if (!step_has_sent_any(c))
		step_save(c, "was_on", json_boolean(was_on));
}

bool toggle_undo(struct step_ctx *c, struct spawn *ret)
{
	const bool was_on = json_bool_or(c->data, "was_on", toggle_is_enabling(c));

	/* What was on already was mended at most. */
	if (!step_has_sent_any(c) || was_on == toggle_is_enabling(c))
		return false;
	ret->kind = toggle_feature(c)->kind;
	ret->target = c->target;
	ret->input = json_own(c->arena, json_copy((json_t *)(uintptr_t)c->input));
	json_put_bool(ret->input, "enabled", was_on);
	/* What has come to need it since was never confirmed to be lost. */
	json_object_set(ret->input, "confirmed", json_new_list(c->arena));
	return true;
}

/* --- check ------------------------------------------------------------------------ */

bool toggle_check_observe(struct step_ctx *c, struct exchange *x)
{
	return survey_observe(c, x, toggle_feature(c),
			      toggle_is_enabling(c) ? SURVEY_NEEDS | SURVEY_CHAIN : 0);
}

/* Case DP-09: nothing is brought along that was not agreed to. */
static bool brings_unasked(struct step_ctx *c, const json_t *needs)
{
	struct listing names = listing_new(c->arena, ", ", LISTING_LONG);
	struct err *e;
	size_t i;
	json_t *n;

	if (json_bool_or(c->input, "install_prerequisites", true))
		return false;
	json_array_foreach(needs, i, n)
		if (streq(json_str_at(n, "state"), "brought"))
			listing_add(&names, "%s", json_str_or(n, "name", "?"));
	if (!names.n)
		return false;
	e = step_fail(c, ERR_STATE_CONFLICT,
		      "%s requires components that are missing: %s",
		      toggle_feature(c)->title, listing_text(&names));
	err_field(e, "/install_prerequisites", "false", "true");
	err_fix(e, "Set install_prerequisites, or install them yourself.");
	return true;
}

void toggle_check_plan(struct step_ctx *c, struct exchange *x)
{
	const struct feature *f = toggle_feature(c);
	const json_t *needs, *blocker;
	struct err *e;

	(void)x;
	survey_save(c, f);
	toggle_note(c, saw_ok(c, survey_key(c, "addon", f->name)));
	if (!toggle_is_enabling(c)) {
		step_goto(c, "refuse_users");
		return;
	}
	needs = feature_needs(c, f);
	blocker = feature_blocker(needs);
	step_event(c, "needs",
		   json_pack("{s:s, s:O}", "feature", f->name, "needs", needs));
	if (blocker) {
		e = step_fail(c, ERR_STATE_CONFLICT, "%s cannot be enabled: %s is %s",
			      f->title, json_str_or(blocker, "title", "?"),
			      json_str_or(blocker, "found", "?"));
		err_field(e, "", json_str_at(blocker, "found"),
			  json_str_at(blocker, "needed"));
		err_fix(e, "%s, then repeat the request.",
			json_str_or(blocker, "detail", "Change this"));
		return;
	}
	if (!brings_unasked(c, needs))
		(void)feature_refuse_foreign(c, f);
}

/* --- cert-manager's webhook --------------------------------------------------------- */

bool toggle_webhook_observe(struct step_ctx *c, struct exchange *x)
{
	struct kube_request r = {.verb = KUBE_CREATE,
				 .api = "cert-manager.io/v1",
				 .plural = "certificates",
				 .ns = "default",
				 .dry_run = true};

	if (c->planning)
		return false;
	r.body = json_packf(c->arena, "{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:[s], s:{s:s}}}",
			    "apiVersion", r.api, "kind", "Certificate", "metadata",
			    "name", "instantstart-probe", "namespace", r.ns, "spec",
			    "secretName", "instantstart-probe", "dnsNames",
			    "probe.instantstart.invalid", "issuerRef", "name", "probe");
	return read_kube(c, x, "probe", &r);
}

void toggle_webhook_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (!c->planning && !saw_ok(c, "probe"))
		step_wait(c, 5, "cert-manager's resource types to be served: %s",
			  saw_message(c, "probe"));
}

/* The runner repeats what a webhook does not answer; after that somebody must look. */
void toggle_webhook_failed(struct step_ctx *c)
{
	const struct err was = c->verdict.error;
	struct err *e = step_fail(c, ERR_DEPENDENCY_FAILED,
				  "The cert-manager webhook does not answer");

	err_fix(e, "Check the pods in the namespace cert-manager, then retry.");
	for (size_t i = 0; i < was.n_causes; i++)
		err_because(e, was.cause[i].source, was.cause[i].code,
			    was.cause[i].message, was.cause[i].request_id);
}

/* --- ready ------------------------------------------------------------------------ */

static const struct served {
	enum feature_id feature;
	const char *crd, *version, *data; /* data: a member that must not be false */
} served[] = {
	{FEATURE_TRAINING, "hyperpodpytorchjobs.sagemaker.amazonaws.com", "v1", NULL},
	{FEATURE_INFERENCE, "inferenceendpointconfigs.inference.sagemaker.aws.amazon.com",
	 "v1", NULL},
	{FEATURE_INFERENCE, "jumpstartmodels.inference.sagemaker.aws.amazon.com", "v1",
	 NULL},
	{FEATURE_INFERENCE, "scaledobjects.keda.sh", "v1alpha1", "bundled.scale"},
};
enum { N_SERVED = sizeof(served) / sizeof(served[0]) };

static bool is_expected(const struct step_ctx *c, const struct served *s)
{
	return s->feature == toggle_feature(c)->id &&
	       (!s->data || json_bool_or(c->data, s->data, true));
}

bool toggle_ready_observe(struct step_ctx *c, struct exchange *x)
{
	const struct feature *f = toggle_feature(c);

	if (c->planning)
		return false;
	for (size_t i = 0; i < N_SERVED; i++)
		if (is_expected(c, &served[i]) &&
		    read_kube(
			    c, x, served[i].crd,
			    &(struct kube_request){.verb = KUBE_GET,
						   .api = "apiextensions.k8s.io/v1",
						   .plural = "customresourcedefinitions",
						   .name = served[i].crd}))
			return true;
	return read_kube(c, x, "deployments",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "apps/v1",
						.plural = "deployments",
						.ns = f->component->ns}) ||
	       survey_observe(c, x, f, SURVEY_CHAIN);
}

/* Case IN-05: established, and of the version that is asked for. */
static const char *not_served(const struct step_ctx *c, const struct served *s)
{
	const json_t *crd = json_object_get(c->seen, s->crd) ? saw(c, s->crd) : NULL;
	const json_t *version =
		json_find(json_at(crd, "spec.versions"), "name", s->version);
	const json_t *established =
		json_find(json_at(crd, "status.conditions"), "type", "Established");

	if (!crd)
		return "does not exist";
	if (!streq(json_str_at(established, "status"), "True"))
		return "is not established";
	if (!json_bool_or(version, "served", false))
		return "is not served";
	return NULL;
}

static const json_t *unready(const struct step_ctx *c)
{
	size_t i;
	json_t *d;

	json_array_foreach(json_at(saw(c, "deployments"), "items"), i, d)
		if (json_int_or(d, "status.availableReplicas", 0) <
		    json_int_or(d, "spec.replicas", 1))
			return d;
	return NULL;
}

/* Lists lag: who asks right after the end must see what was made. */
static const json_t *unseen_part(struct step_ctx *c)
{
	const json_t *chain = feature_chain(c, toggle_feature(c));
	const json_t *part = json_find(chain, "state", "missing");

	return part ? part : json_find(chain, "state", "differs");
}

static bool waits_for_nodes(const struct step_ctx *c)
{
	return streq(json_str_at(c->data, arena_printf(c->arena, "components.%s.state",
						       toggle_feature(c)->name)),
		     "waiting_for_nodes");
}

void toggle_ready_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *d = unready(c), *part;

	(void)x;
	if (c->planning)
		return;
	for (size_t i = 0; i < N_SERVED; i++) {
		const char *why =
			is_expected(c, &served[i]) ? not_served(c, &served[i]) : NULL;

		if (why) {
			step_wait(c, 5, "%s %s, which %s", served[i].crd,
				  served[i].version, why);
			return;
		}
	}
	if (d && !waits_for_nodes(c)) {
		step_wait(c, 5, "the deployment %s of %s",
			  json_str_or(d, "metadata.name", "?"), toggle_feature(c)->title);
		return;
	}
	part = unseen_part(c);
	if (part)
		step_wait(c, 5, "the %s %s to become visible",
			  json_str_or(part, "part", "?"), json_str_or(part, "name", "?"));
}

/* What we have installed and is there no longer, somebody else has removed. */
static const char *ready_moved(struct step_ctx *c)
{
	const struct feature *f = toggle_feature(c);
	const char *key = survey_key(c, "addon", f->name);
	const char *status = json_str_or(saw(c, key), "addon.status", "");

	if (!step_has_sent(c, arena_printf(c->arena, "%s_install", f->name)) ||
	    !(saw_missing(c, key) || streq(status, "DELETING")))
		return NULL;
	step_gone(c, f->component->addon);
	return arena_printf(c->arena,
			    "the add-on %s was removed outside InstantStart during its "
			    "installation",
			    f->component->addon);
}

const struct wait toggle_ready_wait = {
	.rule = "Kubernetes has no limit of its own",
	.moved = ready_moved,
};

static void note(struct step_ctx *c, const char *state)
{
	const struct feature *f = toggle_feature(c);
	json_t *made = json_pack(
		"{s:s, s:s, s:s*}", "state", state, "title", f->title, "version",
		json_str_at(c->data,
			    arena_printf(c->arena, "components.%s.version", f->name)));

	step_catalog(c, "feature", f->name,
		     json_pack("{s:b}", "enabled", toggle_is_enabling(c)), made);
	/* Also while planning: what follows is the other way. */
	step_done(c,
		  json_pack("{s:s, s:s, s:s, s:O*}", "cluster", c->target, "feature",
			    f->name, "state", state, "kept", json_at(c->data, "kept")));
}

void toggle_enabled_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	note(c, waits_for_nodes(c) ? "pending" : "enabled");
}

/* --- disabling: users.c has what comes first ---------------------------------------- */

void toggle_disabled_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	note(c, "disabled");
}
