/* What happens to the cluster that nobody has asked us for. */
#include <stdio.h>
#include <string.h>

#include "core/domain/hyperpod/group_spec.h"
#include "core/json/tree.h"
#include "tests/faults/fleet.h"

static const char somebody[] = "arn:aws:iam::123456789012:user/somebody";
static const char autoscaler[] = "arn:aws:iam::123456789012:role/autoscaler";

static int64_t below(struct fleet *f, int64_t n)
{
	return (int64_t)rng_below(&f->rng.rng, (uint64_t)n);
}

/* Refusals are the cloud's to give: a busy cluster takes no update of theirs. */
static bool ask(struct fleet *f, const char *as, const char *service, const char *op,
		json_t *in)
{
	const char *code, *message;
	json_t *out;
	const bool ok = cloud_invoke(lab(f->h)->cloud, &f->arena, service, op, in, as,
				     &out, &code, &message);

	if (f->verbose)
		printf("fleet: outside: %s %s %s: %s\n", op, json_text(&f->arena, in),
		       ok ? "ok" : code, ok ? "" : message);
	return ok;
}

/* A group that is not on its way out, as its specification. */
static json_t *some_group(struct fleet *f)
{
	json_t *groups = json_at(fleet_cluster(f), "InstanceGroups"), *g;
	const size_t n = json_array_size(groups);
	struct err e = {0};
	const char *key;
	void *next;
	json_t *v;

	if (n == 0)
		return NULL;
	g = json_own(&f->arena, json_deep_copy(json_array_get(groups, below(f, n))));
	if (streq(json_str_at(g, "Status"), "Deleting"))
		return NULL;
	json_object_foreach_safe(g, next, key, v)
		if (key[0] == '_')
			json_object_del(g, key);
	return group_spec(g, &f->arena, &e);
}

static void update(struct fleet *f, json_t *spec)
{
	ask(f, somebody, "sagemaker", "UpdateCluster",
	    json_packf(&f->arena, "{s:s, s:[O]}", "ClusterName", f->h->target,
		       "InstanceGroups", spec));
}

static void scale(struct fleet *f)
{
	json_t *g = some_group(f);

	if (!g)
		return;
	json_put_int(g, "InstanceCount",
		     json_int_or(g, "MinInstanceCount", 0) + below(f, 4));
	update(f, g);
}

static void label(struct fleet *f)
{
	json_t *g = some_group(f);

	if (!g)
		return;
	json_put(g, "KubernetesConfig.Labels",
		 json_pack("{s:s, s:o}", "owner", "somebody", "turn",
			   json_sprintf("%lld", (long long)below(f, 100))));
	update(f, g);
}

static void threads(struct fleet *f)
{
	json_t *g = some_group(f);

	if (!g)
		return;
	json_put_int(g, "ThreadsPerCore", 1 + below(f, 2));
	update(f, g);
}

static void delete_node(struct fleet *f)
{
	const char *id = fleet_node(f);

	if (id)
		ask(f, somebody, "sagemaker", "BatchDeleteClusterNodes",
		    json_packf(&f->arena, "{s:s, s:[s]}", "ClusterName", f->h->target,
			       strncmp(id, "i-", 2) == 0 ? "NodeIds" : "NodeLogicalIds",
			       id));
}

static void add_nodes(struct fleet *f)
{
	json_t *g = some_group(f);

	if (g)
		ask(f, autoscaler, "sagemaker", "BatchAddClusterNodes",
		    json_packf(&f->arena, "{s:s, s:[{s:s, s:i}]}", "ClusterName",
			       f->h->target, "NodesToAdd", "InstanceGroupName",
			       json_str_or(g, "InstanceGroupName", ""),
			       "IncrementTargetCountBy", 1));
}

/* One of a table's rows; NULL: it is empty. */
static const json_t *some_row(struct fleet *f, const char *table)
{
	json_t *rows = cloud_table(lab(f->h)->cloud, table), *row;
	int64_t at = (int64_t)json_object_size(rows);
	const char *id;

	if (at == 0)
		return NULL;
	at = below(f, at);
	json_object_foreach(rows, id, row)
		if (at-- == 0)
			return row;
	return NULL;
}

static void delete_addon(struct fleet *f)
{
	const char *name = json_str_at(some_row(f, "eks.addon"), "addonName");

	/* Without these no node works any more, whoever looks after the rest. */
	if (!name || streq(name, "vpc-cni") || streq(name, "coredns") ||
	    streq(name, "kube-proxy"))
		return;
	ask(f, somebody, "eks", "DeleteAddon",
	    json_packf(&f->arena, "{s:s, s:s}", "clusterName", f->h->target, "addonName",
		       name));
}

/* Of roles that a feature has; those of the nodes and of the control plane stay. */
static void delete_policy(struct fleet *f)
{
	const json_t *role = some_row(f, "iam.role");
	const char *name = json_str_or(role, "RoleName", ""), *policy;
	void *first = json_object_iter(json_at(role, "_inline"));

	if (!strstr(json_text(&f->arena, role), "instantstart") ||
	    strstr(name, "nodes") || !first)
		return;
	policy = json_object_iter_key(first);
	ask(f, somebody, "iam", "DeleteRolePolicy",
	    json_packf(&f->arena, "{s:s, s:s}", "RoleName", name, "PolicyName", policy));
}

static void no_capacity(struct fleet *f)
{
	if (f->capacity_until_ms)
		return;
	f->capacity_until_ms = f->h->clock.wall + (10 + below(f, 50)) * 60000;
	cloud_configure(lab(f->h)->cloud, json_packf(&f->arena, "{s:{s:i}}", "capacity",
						     "ml.g5.12xlarge", 0));
}

static void capacity_again(struct fleet *f)
{
	if (!f->capacity_until_ms ||
	    (!f->quiet && f->h->clock.wall < f->capacity_until_ms))
		return;
	f->capacity_until_ms = 0;
	cloud_configure(lab(f->h)->cloud,
			json_packf(&f->arena, "{s:{s:n}}", "capacity", "ml.g5.12xlarge"));
}

void fleet_outside(struct fleet *f)
{
	static void (*const acts[])(struct fleet *) = {
		scale,     scale,     label,        threads,       delete_node,
		add_nodes, add_nodes, delete_addon, delete_policy, no_capacity};

	arena_reset(&f->arena);
	capacity_again(f);
	if (f->quiet || below(f, 30) > 0)
		return;
	cloud_advance(lab(f->h)->cloud);
	fleet_sync(f, FLEET_CLOUD);
	acts[below(f, sizeof(acts) / sizeof(acts[0]))](f);
	f->outsides++;
	f->outside_seq = ++f->seq;
	fleet_cut(f, "*");
	fleet_sync(f, FLEET_OUTSIDE);
}
