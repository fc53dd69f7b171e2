/* Tags: what we put on things, and what they say. */
#include "core/op/owner.h"

#include <strings.h>

#include "core/json/tree.h"

static const char tag_installation[] = "instantstart:installation";
static const char tag_cluster[] = "instantstart:cluster";
static const char tag_operation[] = "instantstart:operation";

/* The target of a part of a cluster reads "cluster/part". */
static const char *cluster_of(const struct step_ctx *c)
{
	const char *name = step_input(c, "cluster");
	struct str rest = str_of(name ? name : c->target);

	return str_dup(c->arena, str_cut(&rest, '/'));
}

static bool was_earlier(const struct step_ctx *c, const char *key)
{
	return json_object_get(c->where->earlier, key) != NULL;
}

static bool operation_was_earlier(const struct step_ctx *c, const char *cluster,
				  const char *operation)
{
	return was_earlier(c,
			   arena_printf(c->arena, "operation %s %s", cluster, operation));
}

/* --- what we put on them --------------------------------------------------------- */

/* In the place of one that differs by case alone: to IAM it is the same key. */
static void set_tag(json_t *map, const char *key, json_t *value)
{
	const char *there;
	json_t *v;
	void *next;

	json_object_foreach_safe(map, next, there, v)
		if (strcasecmp(there, key) == 0)
			json_object_del(map, there);
	json_object_set_new(map, key, value);
}

/* "key=value,key=value" of the configuration. */
static void add_configured(const struct step_ctx *c, json_t *map)
{
	struct str rest = str_of(c->cfg ? c->cfg->default_tags : NULL);

	while (rest.p) {
		struct str value = str_trim(str_cut(&rest, ','));
		const struct str key = str_trim(str_cut(&value, '='));

		if (key.n && value.p)
			set_tag(map, str_dup(c->arena, key),
				json_string(str_dup(c->arena, str_trim(value))));
	}
}

/* The tokens of an operation that began without the tag are bound to what it sent. */
static bool is_tagged_as_before(const struct step_ctx *c)
{
	return was_earlier(c, arena_printf(c->arena, "operation %s", c->root_id));
}

json_t *step_tag_map(struct step_ctx *c)
{
	json_t *map = json_new_object(c->arena);
	const char *key;
	json_t *value;

	add_configured(c, map);
	json_object_foreach(json_at(c->input, "tags"), key, value)
		if (json_is_string(value))
			set_tag(map, key, json_incref(value));
	/* Ours come last: they are how we find our things again. */
	set_tag(map, tag_cluster, json_string(cluster_of(c)));
	set_tag(map, tag_operation, json_string(c->root_id));
	if (c->where->installation && !is_tagged_as_before(c))
		set_tag(map, tag_installation, json_string(c->where->installation));
	return map;
}

json_t *step_tags(struct step_ctx *c)
{
	json_t *list = json_new_list(c->arena);
	json_t *map = step_tag_map(c); /* the loop evaluates its argument again */
	const char *key;
	json_t *value;

	json_object_foreach(map, key, value)
		json_push(list, json_pack("{s:s, s:O}", "Key", key, "Value", value));
	return list;
}

void owner_label(const struct step_ctx *c, json_t *object)
{
	json_t *labels = json_at(object, "metadata.labels");

	if (labels && c->where->installation)
		json_object_set_new(labels, LABEL_INSTALLATION,
				    json_string(c->where->installation));
}

/* --- what they say ------------------------------------------------------------------ */

static const char *tag_value(const json_t *tags, const char *key)
{
	const json_t *row;

	if (json_is_object(tags))
		return json_string_value(json_object_get(tags, key));
	row = json_find(tags, "Key", key);
	if (row)
		return json_str_at(row, "Value");
	return json_str_at(json_find(tags, "key", key), "value");
}

struct mark mark_of_tags(const json_t *tags)
{
	return (struct mark){.installation = tag_value(tags, tag_installation),
			     .cluster = tag_value(tags, tag_cluster),
			     .operation = tag_value(tags, tag_operation)};
}

struct mark mark_of_labels(const json_t *labels)
{
	return (struct mark){
		.installation =
			json_string_value(json_object_get(labels, LABEL_INSTALLATION)),
		.cluster = json_string_value(json_object_get(labels, LABEL_CLUSTER))};
}

/* --- whose they are ----------------------------------------------------------------- */

static enum owner decide(const struct step_ctx *c, const struct mark *m,
			 const char *cluster, bool made_earlier)
{
	if (m->installation && !streq(m->installation, c->where->installation))
		return OWNER_INSTALLATION;
	if (!m->installation && !made_earlier)
		return m->cluster ? OWNER_UNKNOWN : OWNER_NOBODY;
	return streq(m->cluster, cluster) ? OWNER_US : OWNER_CLUSTER;
}

enum owner owner_of_tags(const struct step_ctx *c, const json_t *tags)
{
	const struct mark m = mark_of_tags(tags);

	if (!m.cluster && !m.installation)
		return OWNER_NOBODY;
	if (!m.cluster || !m.operation)
		return decide(c, &m, "", false) == OWNER_INSTALLATION ? OWNER_INSTALLATION
								      : OWNER_UNKNOWN;
	return decide(c, &m, cluster_of(c),
		      streq(m.operation, c->root_id) ||
			      operation_was_earlier(c, m.cluster, m.operation));
}

enum owner owner_of_mark(const struct step_ctx *c, const struct mark *m,
			 const char *cluster, const char *type, const char *id)
{
	struct mark said = *m;
	const char *key = arena_printf(c->arena, "%s %s %s", type, cluster_of(c), id);

	if (!said.cluster)
		said.cluster = cluster;
	/* Of the ledger, or by a call of that time whose answer nobody has had. */
	return decide(c, &said, cluster,
		      was_earlier(c, key) ||
			      (c->issued_before && is_tagged_as_before(c)));
}

enum owner owner_of_object(const struct step_ctx *c, const json_t *object,
			   const char *cluster, const char *type)
{
	const json_t *labels = json_at(object, "metadata.labels");
	const struct mark m = mark_of_labels(labels);
	const char *name = json_str_or(object, "metadata.name", "");
	const char *ns = json_str_at(object, "metadata.namespace");

	if (!streq(json_string_value(json_object_get(labels, LABEL_MANAGED)),
		   "instantstart"))
		return OWNER_NOBODY;
	return owner_of_mark(c, &m, cluster, type,
			     ns ? arena_printf(c->arena, "%s/%s", ns, name) : name);
}

bool step_tagged_ours(const struct step_ctx *c, const json_t *tags)
{
	const struct mark m = mark_of_tags(tags);

	return m.operation && streq(m.operation, c->root_id);
}

bool step_tagged_cluster(const struct step_ctx *c, const json_t *tags)
{
	return owner_of_tags(c, tags) == OWNER_US;
}

/* --- said --------------------------------------------------------------------------- */

static const char *or_none(const char *text)
{
	return text ? text : "(none)";
}

void owner_tell_mark(struct step_ctx *c, struct err *e, enum owner owner,
		     const struct mark *m)
{
	const char *by = m->operation
				 ? arena_printf(c->arena, ", operation %s", m->operation)
				 : "";

	switch (owner) {
	case OWNER_US:
		if (m->operation && !streq(m->operation, c->root_id))
			err_because(e, "owner", "another-operation",
				    arena_printf(c->arena,
						 "It was created for this cluster by the "
						 "operation %s of this installation",
						 m->operation),
				    NULL);
		break;
	case OWNER_NOBODY:
		err_because(e, "owner", "not-tagged",
			    "It has no InstantStart tags or labels", NULL);
		break;
	case OWNER_CLUSTER:
		err_because(e, "owner", "another-cluster",
			    arena_printf(c->arena,
					 "It belongs to another cluster of this "
					 "installation: cluster %s%s",
					 or_none(m->cluster), by),
			    NULL);
		break;
	case OWNER_INSTALLATION:
		err_because(e, "owner", "another-installation",
			    arena_printf(c->arena,
					 "It belongs to the InstantStart installation "
					 "%s: cluster %s%s. This installation is %s",
					 m->installation, or_none(m->cluster), by,
					 or_none(c->where->installation)),
			    NULL);
		break;
	case OWNER_UNKNOWN:
		err_because(e, "owner", "unknown-operation",
			    arena_printf(c->arena,
					 "It is tagged for the cluster %s%s, but no "
					 "operation of this installation created it",
					 or_none(m->cluster), by),
			    NULL);
		break;
	}
}

void owner_tell(struct step_ctx *c, struct err *e, const json_t *tags)
{
	const struct mark m = mark_of_tags(tags);

	owner_tell_mark(c, e, owner_of_tags(c, tags), &m);
}
