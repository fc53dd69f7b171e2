/* Deployments, daemon sets, stateful sets, replica sets, jobs.
 * https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/apps/validation/validation.go
 */
#include <string.h>

#include "tests/cloud/kube/server.h"

static bool is(const struct ks_check *c, const char *kind)
{
	return streq(c->q->kind->kind, kind);
}

static bool differs(const struct ks_check *c, const char *path)
{
	const json_t *was = json_at(c->live, path);
	const json_t *now = json_at(c->obj, path);

	return was != now && !(was && now && json_equal(was, now));
}

static void not_negative(struct ks_check *c, const char *path)
{
	const int64_t n = json_int_or(c->obj, path, 0);

	if (n < 0)
		ks_refuse(c, INVALID, path,
			  "Invalid value: %lld: must be greater than or equal to 0",
			  (long long)n);
}

/* false: the operator is none. */
static bool check_operators(struct ks_check *c)
{
	const json_t *e = NULL;
	size_t i = 0;
	bool fine = true;

	json_array_foreach(json_at(c->obj, "spec.selector.matchExpressions"), i, e) {
		const char *operator= json_str_or(e, "operator", "");

		if (streq(operator, "In") || streq(operator, "NotIn") ||
		    streq(operator, "Exists") || streq(operator, "DoesNotExist"))
			continue;
		fine = false;
		ks_refuse(
			c, INVALID,
			arena_printf(c->a, "spec.selector.matchExpressions[%zu].operator",
				     i),
			"Invalid value: \"%s\": not a valid selector operator", operator);
	}
	return fine;
}

static void check_selector(struct ks_check *c)
{
	const json_t *selector = json_at(c->obj, "spec.selector");
	const json_t *labels = json_at(c->obj, "spec.template.metadata.labels");

	if (!selector && !is(c, "DaemonSet"))
		ks_refuse(c, REQUIRED, "spec.selector", "Required value");
	if (selector && json_len_at(selector, "matchExpressions") == 0 &&
	    json_object_size(json_at(selector, "matchLabels")) == 0)
		ks_refuse(c, INVALID, "spec.selector",
			  "Invalid value: {}: empty selector is invalid for %s",
			  is(c, "DaemonSet")     ? "daemonset"
			  : is(c, "StatefulSet") ? "statefulset"
						 : "deployment");
	if (!check_operators(c)) {
		if (!is(c, "DaemonSet"))
			ks_refuse(c, INVALID, "spec.selector",
				  "Invalid value: %s: invalid label selector",
				  json_text(c->a, selector));
		return;
	}
	if (!selector || !ks_labels_match(selector, labels))
		ks_refuse(
			c, INVALID, "spec.template.metadata.labels",
			"Invalid value: %s: `selector` does not match template `labels`",
			labels ? json_text(c->a, labels) : "null");
}

static void check_strategy(struct ks_check *c)
{
	const bool own = is(c, "Deployment");
	const char *path = own ? "spec.strategy" : "spec.updateStrategy";
	const char *type = json_str_or(json_at(c->obj, path), "type", "");
	const json_t *rolling = json_at(c->obj, "spec.strategy.rollingUpdate");
	const char *other = own ? "Recreate" : "OnDelete";

	if (is(c, "ReplicaSet"))
		return;
	if (!streq(type, "RollingUpdate") && !streq(type, other)) {
		if (is(c, "StatefulSet"))
			ks_refuse(
				c, INVALID, path,
				"Invalid value: {\"Type\":\"%s\",\"RollingUpdate\":null}: "
				"must be 'RollingUpdate' or 'OnDelete'",
				type);
		else
			ks_refuse(c, NOT_SUPPORTED, path,
				  "Unsupported value: {\"Type\":\"%s\",\"RollingUpdate\":"
				  "null}: supported values: %s",
				  type,
				  own ? "\"Recreate\", \"RollingUpdate\""
				      : "\"RollingUpdate\", \"OnDelete\"");
	}
	if (!own || !rolling)
		return;
	if (streq(type, "Recreate"))
		ks_refuse(c, FORBIDDEN, "spec.strategy.rollingUpdate",
			  "Forbidden: may not be specified when strategy `type` is "
			  "'Recreate'");
	else if (json_is_integer(json_at(rolling, "maxSurge")) &&
		 json_is_integer(json_at(rolling, "maxUnavailable")) &&
		 json_int_or(rolling, "maxSurge", 1) == 0 &&
		 json_int_or(rolling, "maxUnavailable", 1) == 0)
		ks_refuse(c, INVALID, "spec.strategy.rollingUpdate.maxUnavailable",
			  "Invalid value: 0: may not be 0 when `maxSurge` is 0");
}

static void check_set_update(struct ks_check *c)
{
	static const char *const frozen[] = {"spec.selector", "spec.serviceName",
					     "spec.volumeClaimTemplates",
					     "spec.podManagementPolicy"};

	for (size_t i = 0; i < sizeof(frozen) / sizeof(frozen[0]); i++) {
		if (!differs(c, frozen[i]))
			continue;
		ks_refuse(
			c, FORBIDDEN, "spec",
			"Forbidden: updates to statefulset spec for fields other than "
			"'replicas', 'ordinals', 'template', 'updateStrategy', "
			"'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' "
			"and 'minReadySeconds' are forbidden");
		return;
	}
}

static void check_app(struct ks_check *c)
{
	const json_t *spec = json_at(c->obj, "spec.template.spec");
	const char *restart = json_str_or(spec, "restartPolicy", "Always");

	not_negative(c, "spec.replicas");
	not_negative(c, "spec.minReadySeconds");
	check_selector(c);
	check_strategy(c);
	ks_check_pod_spec(c, spec, "spec.template.spec");
	if (!streq(restart, "Always"))
		ks_refuse(c, NOT_SUPPORTED, "spec.template.spec.restartPolicy",
			  "Unsupported value: \"%s\": supported values: \"Always\"",
			  restart);
	if (!c->live)
		return;
	if (is(c, "StatefulSet"))
		check_set_update(c);
	else if (differs(c, "spec.selector"))
		ks_refuse(c, INVALID, "spec.selector",
			  "Invalid value: %s: field is immutable",
			  json_text(c->a, json_at(c->obj, "spec.selector")));
}

/* --- jobs ---------------------------------------------------------------------- */

static void check_job_update(struct ks_check *c)
{
	static const char *const frozen[] = {"spec.completions", "spec.selector",
					     "spec.completionMode"};

	for (size_t i = 0; i < sizeof(frozen) / sizeof(frozen[0]); i++) {
		if (differs(c, frozen[i]))
			ks_refuse(c, INVALID, frozen[i],
				  "Invalid value: %s: field is immutable",
				  json_text(c->a, json_at(c->obj, frozen[i])));
	}
	if (differs(c, "spec.template"))
		ks_refuse(c, INVALID, "spec.template",
			  "Invalid value: %s: field is immutable",
			  json_text(c->a, json_at(c->obj, "spec.template")));
}

static void check_job(struct ks_check *c)
{
	const json_t *spec = json_at(c->obj, "spec.template.spec");
	const json_t *labels = json_at(c->obj, "spec.template.metadata.labels");
	const char *restart = json_str_or(spec, "restartPolicy", "Always");
	const char *mode = json_str_or(c->obj, "spec.completionMode", "NonIndexed");
	const char *name = json_str_or(c->obj, "metadata.name", "");

	not_negative(c, "spec.backoffLimit");
	not_negative(c, "spec.parallelism");
	not_negative(c, "spec.completions");
	if (!streq(mode, "NonIndexed") && !streq(mode, "Indexed"))
		ks_refuse(c, NOT_SUPPORTED, "spec.completionMode",
			  "Unsupported value: \"%s\": supported values: \"NonIndexed\", "
			  "\"Indexed\"",
			  mode);
	if (strlen(name) > 63) /* it is the value of a label */
		ks_refuse(c, INVALID, "spec.template.labels",
			  "Invalid value: \"%s\": must be no more than 63 bytes", name);
	if (!json_bool_or(c->obj, "spec.manualSelector", false) && !c->live &&
	    json_object_size(json_at(c->obj, "spec.selector.matchLabels")) > 1)
		ks_refuse(c, INVALID, "spec.selector",
			  "Invalid value: %s: `selector` not auto-generated",
			  json_text(c->a, json_at(c->obj, "spec.selector")));
	if (!ks_labels_match(json_at(c->obj, "spec.selector"), labels))
		ks_refuse(
			c, INVALID, "spec.template.metadata.labels",
			"Invalid value: %s: `selector` does not match template `labels`",
			labels ? json_text(c->a, labels) : "null");
	ks_check_pod_spec(c, spec, "spec.template.spec");
	if (streq(restart, "Always"))
		ks_refuse(c, REQUIRED, "spec.template.spec.restartPolicy",
			  "Required value: valid values: \"OnFailure\", \"Never\"");
	if (c->live)
		check_job_update(c);
}

static void check_cron_job(struct ks_check *c)
{
	const char *schedule = json_str_or(c->obj, "spec.schedule", "");
	struct str rest = str_of(schedule);
	size_t fields = 0;

	while (rest.p)
		fields += str_cut(&rest, ' ').n > 0;
	if (!*schedule)
		ks_refuse(c, REQUIRED, "spec.schedule", "Required value");
	else if (fields != 5 && schedule[0] != '@')
		ks_refuse(
			c, INVALID, "spec.schedule",
			"Invalid value: \"%s\": expected exactly 5 fields, found %zu: [%s]",
			schedule, fields, schedule);
	ks_check_pod_spec(c, json_at(c->obj, "spec.jobTemplate.spec.template.spec"),
			  "spec.jobTemplate.spec.template.spec");
}

void ks_check_work(struct ks_check *c)
{
	if (is(c, "Job"))
		check_job(c);
	else if (is(c, "CronJob"))
		check_cron_job(c);
	else if (is(c, "Deployment") || is(c, "DaemonSet") || is(c, "StatefulSet") ||
		 is(c, "ReplicaSet"))
		check_app(c);
}
