/*
 * check_version.c - the Kubernetes version: given or chosen, how long it is supported.
 *
 * EKS's own answer says which versions there are, which one is the default, and until
 * when each is in standard and in extended support; what HyperPod takes is data of the
 * installation (KUBERNETES_OLDEST, KUBERNETES_NEWEST). Extended support is charged.
 * https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeClusterVersions.html
 * https://aws.amazon.com/eks/pricing/
 */
#include "core/domain/cluster/check_version.h"

#include "core/base/clock.h"
#include "core/domain/offer/cluster_check.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

enum { SOON_DAYS = 90 };
static const int64_t day_ms = INT64_C(24) * 3600 * 1000;
/* List prices of an EKS control plane, USD an hour. */
static const char price_standard[] = "0.10", price_extended[] = "0.60";

bool check_version_observe(struct step_ctx *c, struct exchange *x)
{
	return read_all(c, x, "versions", AWS_EKS_DescribeClusterVersions, NULL);
}

static bool is_status(const json_t *v, const char *upper, const char *lower)
{
	const char *now = json_str_at(v, "versionStatus");

	return now ? streq(now, upper) : streq(json_str_or(v, "status", ""), lower);
}

static bool in_range(const struct step_ctx *c, const char *version)
{
	const int minor = kubernetes_minor(version);

	return minor >= kubernetes_minor(c->cfg->kubernetes_oldest) &&
	       minor <= kubernetes_minor(c->cfg->kubernetes_newest);
}

/* EKS's default; where HyperPod does not take it, the newest that it takes, in
 * standard support before extended. NULL: none. */
static const json_t *choose(const struct step_ctx *c, const json_t *list)
{
	const json_t *best = NULL;
	bool best_standard = false;
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v) {
		const char *name = json_str_or(v, "clusterVersion", "");
		const bool standard =
			!is_status(v, "EXTENDED_SUPPORT", "extended-support");

		if (!in_range(c, name) || is_status(v, "UNSUPPORTED", "unsupported"))
			continue;
		if (json_bool_or(v, "defaultVersion", false))
			return v;
		if (!best || standard > best_standard ||
		    (standard == best_standard &&
		     kubernetes_minor(name) >
			     kubernetes_minor(json_str_at(best, "clusterVersion")))) {
			best = v;
			best_standard = standard;
		}
	}
	return best;
}

static const char *day_of(struct step_ctx *c, const char *moment)
{
	return moment ? arena_printf(c->arena, "%.10s", moment) : "an unknown date";
}

/* What it costs, and when it ends. */
static void say_support(struct step_ctx *c, const json_t *v)
{
	const char *name = json_str_or(v, "clusterVersion", "?");
	const char *end = json_str_at(v, "endOfStandardSupportDate");
	const char *last = json_str_at(v, "endOfExtendedSupportDate");
	int64_t end_ms;

	if (is_status(v, "EXTENDED_SUPPORT", "extended-support")) {
		step_warn(c,
			  "Kubernetes %s has been in extended support since %s: the "
			  "control plane costs %s USD per hour instead of %s (list "
			  "prices), and EKS upgrades it automatically on %s",
			  name, day_of(c, end), price_extended, price_standard,
			  day_of(c, last));
		return;
	}
	if (!end || !time_parse_rfc3339(end, &end_ms)) {
		step_not_known(c, "kubernetes_version",
			       "how long EKS supports Kubernetes %s", name);
		return;
	}
	if (end_ms - c->now_ms < SOON_DAYS * day_ms)
		step_warn(
			c,
			"Standard support of Kubernetes %s ends on %s: the control plane "
			"then costs %s USD per hour instead of %s (list prices) unless "
			"it is upgraded",
			name, day_of(c, end), price_extended, price_standard);
}

static void say_range(struct step_ctx *c, const char *version)
{
	const char *newest = c->cfg->kubernetes_newest;

	if (kubernetes_minor(version) > kubernetes_minor(newest))
		step_warn(c,
			  "HyperPod is known to support Kubernetes up to %s: %s may be "
			  "rejected when the nodes are created",
			  newest, version);
}

static void refuse(struct step_ctx *c, const json_t *list, const char *version,
		   const char *why)
{
	struct err *e = step_fail(c, ERR_INVALID_INPUT, "%s %s", why, version);

	err_field(e, "/kubernetes_version", version,
		  arena_printf(
			  c->arena, "one of %s",
			  texts_named(c->arena, list, "clusterVersion", LISTING_SHORT)));
}

/* Without the right to ask: EKS judges, and the newest that HyperPod takes is used. */
static void not_told(struct step_ctx *c, const char *wanted)
{
	const char *version = wanted ? wanted : c->cfg->kubernetes_newest;

	step_not_known(c, "kubernetes_version",
		       "whether EKS supports Kubernetes %s, and until when (%s)", version,
		       saw_ok(c, "versions") ? "EKS listed no versions"
					     : saw_why(c, "versions"));
	step_save_str(c, "kubernetes_version", version);
	say_range(c, version);
}

void check_version_plan(struct step_ctx *c, struct exchange *x)
{
	const char *wanted = step_input(c, "kubernetes_version");
	const json_t *list = json_at(saw(c, "versions"), "clusterVersions"), *row;
	struct err *e;

	(void)x;
	if (json_array_size(list) == 0) {
		not_told(c, wanted);
		return;
	}
	row = wanted ? json_find(list, "clusterVersion", wanted) : choose(c, list);
	if (!row && wanted) {
		refuse(c, list, wanted, "EKS does not offer the Kubernetes version");
		return;
	}
	if (!row) {
		e = step_fail(
			c, ERR_NOT_OFFERED,
			"EKS offers no Kubernetes version from %s to %s, the versions "
			"that HyperPod supports",
			c->cfg->kubernetes_oldest, c->cfg->kubernetes_newest);
		err_field(e, "/kubernetes_version", "",
			  arena_printf(c->arena, "one of %s",
				       texts_named(c->arena, list, "clusterVersion",
						   LISTING_SHORT)));
		err_fix(e, "Set kubernetes_version to a version that EKS offers.");
		return;
	}
	if (is_status(row, "UNSUPPORTED", "unsupported")) {
		refuse(c, list, json_str_or(row, "clusterVersion", "?"),
		       "EKS no longer creates clusters with Kubernetes");
		return;
	}
	step_save_str(c, "kubernetes_version", json_str_at(row, "clusterVersion"));
	if (!wanted)
		step_event(
			c, "chosen",
			json_pack("{s:s, s:s}", "kubernetes_version",
				  json_str_or(row, "clusterVersion", ""), "because",
				  json_bool_or(row, "defaultVersion", false)
					  ? "EKS's default"
					  : "the newest version that HyperPod is known "
					    "to support"));
	say_range(c, json_str_or(row, "clusterVersion", ""));
	say_support(c, row);
}
