/* Dependencies of a cluster: as they are now, and made as wanted. */
#include "core/domain/dependency/component.h"
#include "core/domain/dependency/kinds.h"
#include "core/domain/operation_out.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"
#include "gen/queries.h"

/* --- get_dependencies ----------------------------------------------------------- */

struct of_cluster {
	const char *cluster;
};

static const struct field get_dependencies_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct of_cluster, cluster), FIELD_END};

static const struct field dependency_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the component."),
	OUT("title", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Display name."),
	OUT("via", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "addon or chart."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "ready, waiting_for_nodes, failed, skipped or unknown."),
	OUT("version", FIELD_STR, .doc = "Installed version."),
	OUT("needs", FIELD_STR, .doc = "Component that it depends on."),
	OUT("error", FIELD_OBJECT, .flags = FIELD_OPEN, .doc = "Reason for the failure."),
	OUT("observed_at", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Time of the observation."),
	FIELD_END};

static const struct field get_dependencies_out[] = {
	OUT("cluster", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the cluster."),
	{.name = "items",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = dependency_out,
	 .doc = "Components in order of installation."},
	FIELD_END};

static json_t *row_of(struct call *c, const struct component *k,
		      const struct db_rows *rows)
{
	json_t *item =
		json_pack("{s:s, s:s, s:s, s:s, s:s*, s:n}", "name", k->name, "title",
			  k->title, "via", k->via == COMPONENT_ADDON ? "addon" : "chart",
			  "state", "unknown", "needs", k->needs, "observed_at");
	struct err ignored;
	char at[TIME_TEXT];

	for (int i = 0; i < rows->n; i++) {
		const json_t *seen;

		if (!streq(db_text(rows, i, "name"), k->name))
			continue;
		seen = json_parse(c->arena, str_of(db_text(rows, i, "observed")),
				  &ignored);
		json_put_str(item, "state", json_str_or(seen, "state", "unknown"));
		json_put_str(item, "version", json_str_at(seen, "version"));
		if (json_at(seen, "error"))
			json_put(item, "error", json_incref(json_at(seen, "error")));
		json_put_str(item, "observed_at",
			     time_rfc3339(db_int(rows, i, "observed_ms"), at));
	}
	return item;
}

static bool run_get_dependencies(struct call *c, const void *in, struct reply *ret,
				 struct err *e)
{
	const struct of_cluster *q = in;
	json_t *items = json_new_list(c->arena);
	struct cluster k;
	struct db_rows rows;

	if (!cluster_mean(c, q->cluster, &k, e) ||
	    !DB(c->db, c->arena, &Q_catalog_rows, &rows, e, "dependency", k.name))
		return false;
	for (size_t i = 0; component_list()[i]; i++)
		json_push(items, row_of(c, component_list()[i], &rows));
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:s, s:O}", "cluster", k.name, "items", items));
	return true;
}

extern const struct capability cap_get_dependencies;
const struct capability cap_get_dependencies = {
	.name = "get_dependencies",
	.method = "GET",
	.path = "/clusters/{cluster}/dependencies",
	.title = "Get the dependencies",
	.doc = "Returns the components that HyperPod needs in the EKS cluster, as last "
	       "observed. reconcile_dependencies checks them again.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.in = get_dependencies_in,
	.in_size = sizeof(struct of_cluster),
	.out = get_dependencies_out,
	.run = run_get_dependencies,
};

/* --- reconcile_dependencies -------------------------------------------------------- */

struct reconcile {
	const char *cluster;
	struct str_list components;
	bool require_ready;
	bool adopt;
	MEMBERS_MADE
};

static const struct field reconcile_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct reconcile, cluster),
	FIELD(struct reconcile, components, .max = 20,
	      .doc = "Names of the components. Default: all."),
	FIELD(struct reconcile, require_ready,
	      .doc = "Also wait for components that need nodes."),
	FIELD(struct reconcile, adopt,
	      .doc = "Replace components that others installed or changed. Default: use "
		     "them unchanged."),
	FIELDS_MADE(struct reconcile),
	FIELD_END};

static bool check_names(const struct str_list *names, struct err *e)
{
	for (size_t i = 0; i < names->n; i++)
		if (!component_find(names->v[i])) {
			err_set(e, ERR_INVALID_INPUT, "There is no component %s",
				names->v[i]);
			return err_field(e, "/components", names->v[i],
					 "a name from get_dependencies");
		}
	return true;
}

static bool run_reconcile(struct call *c, const void *in, struct reply *ret,
			  struct err *e)
{
	const struct reconcile *q = in;

	return check_names(&q->components, e) &&
	       cluster_submit(c, &kind_reconcile_dependencies, q->cluster, in, ret, e);
}

extern const struct capability cap_reconcile_dependencies;
const struct capability cap_reconcile_dependencies = {
	.name = "reconcile_dependencies",
	.method = "POST",
	.path = "/clusters/{cluster}/dependencies:reconcile",
	.title = "Reconcile the dependencies",
	.doc = "Checks every component, and installs or updates those that differ. A "
	       "failure does not stop the others.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_IDEMPOTENT,
	.in = reconcile_in,
	.in_size = sizeof(struct reconcile),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "cluster",
	.run = run_reconcile,
};
