#include "core/domain/site/cluster.h"

#include "core/base/nearest.h"
#include "core/json/tree.h"
#include "gen/queries.h"

/* The name of one that there is, where the caller's is nearly that. */
static const char *hint(struct call *c, const char *name)
{
	struct nearest near = {.wanted = name};
	struct err ignored = {0};
	struct db_rows rows;

	if (db_query(c->db, c->arena, &Q_cluster_names, NULL, 0, &rows, &ignored))
		for (int i = 0; i < rows.n; i++)
			nearest_offer(&near, db_text(&rows, i, "name"));
	return nearest_hint(&near, c->arena, "a name from list_clusters");
}

bool cluster_mean(struct call *c, const char *name, struct cluster *ret, struct err *e)
{
	struct db_rows rows;

	if (!DB(c->db, c->arena, &Q_cluster_mean, &rows, e, name, c->who->id))
		return false;
	if (rows.n == 0 && streq(name, "-")) {
		err_set(e, ERR_NOT_FOUND, "No cluster is selected");
		err_field(e, "/cluster", name, "the name of a cluster");
		return err_fix(e, "Name the cluster, or select one with select_cluster.");
	}
	if (rows.n == 0) {
		err_set(e, ERR_NOT_FOUND, "There is no cluster named %s", name);
		err_field(e, "/cluster", name, hint(c, name));
		return err_fix(e,
			       "Use a name from list_clusters, or create a cluster with "
			       "create_cluster, or import one with import_cluster.");
	}
	ret->name = db_text(&rows, 0, "name");
	ret->eks_name = db_text(&rows, 0, "eks_name");
	ret->hyperpod_name = db_text(&rows, 0, "hyperpod_name");
	ret->imported = streq(db_text(&rows, 0, "origin"), "imported");
	ret->status = db_text(&rows, 0, "status");
	ret->roles = db_text(&rows, 0, "roles");
	return true;
}

json_t *cluster_input(struct call *c, const struct cluster *k, const void *in)
{
	json_t *input = field_encode(c->cap->in, in, c->arena), *roles;
	struct err ignored;

	json_object_del(input, "cluster");
	if (k->eks_name && !streq(k->eks_name, k->name))
		json_put_str(input, "eks_name", k->eks_name);
	if (k->hyperpod_name && !streq(k->hyperpod_name, k->name) &&
	    !json_object_get(input, "hyperpod_name"))
		json_put_str(input, "hyperpod_name", k->hyperpod_name);
	roles = k->roles ? json_parse(c->arena, str_of(k->roles), &ignored) : NULL;
	if (roles)
		json_object_set(input, "roles", roles);
	return input;
}

bool cluster_submit(struct call *c, const struct kind *kind, const char *name,
		    const void *in, struct reply *ret, struct err *e)
{
	struct cluster k;

	return cluster_mean(c, name, &k, e) &&
	       call_submit(c, kind, k.name, cluster_input(c, &k, in), ret, e);
}
