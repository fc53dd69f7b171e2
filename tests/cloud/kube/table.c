#include <string.h>

#include "tests/cloud/kube/server.h"

/* Tables for kubectl get. */

static const struct {
	const char *resource, *columns;
} tables[] = {
#define T(resource, columns) {resource, columns},
#include "tests/cloud/kube/table.def"
#undef T
};

struct column {
	const char *name, *path; /* "@…": of cell.c */
	const char *type, *format;
	int priority;
	bool none, zero, absent; /* what stands for nothing: <none>, 0, N/A */
};

static bool has(struct str flags, char c)
{
	return flags.p && memchr(flags.p, c, flags.n) != NULL;
}

static struct column parse_column(struct arena *a, struct str text)
{
	struct column c = {.name = str_dup(a, str_cut(&text, '|')), .format = ""};

	c.path = str_dup(a, str_cut(&text, '|'));
	c.type = has(text, 'i')   ? "integer"
		 : has(text, 'b') ? "boolean"
		 : has(text, 'd') ? "date"
				  : "string";
	c.priority = has(text, '1');
	c.none = has(text, 'n');
	c.zero = has(text, 'z');
	c.absent = has(text, 'N');
	if (streq(c.path, "@name"))
		c.format = "name";
	return c;
}

static struct column *parse_columns(struct arena *a, const char *text, size_t *ret_n)
{
	struct str rest = str_of(text);
	struct column *v = arena_array(a, struct column, 16);

	*ret_n = 0;
	while (rest.p && *ret_n < 16)
		v[(*ret_n)++] = parse_column(a, str_cut(&rest, ';'));
	return v;
}

/* With columns of its own a custom resource shows its age only if it says so. */
static struct column *own_columns(struct arena *a, const struct ks_kind *kind,
				  size_t *ret_n)
{
	const size_t n = json_array_size(kind->columns);
	struct column *v = arena_array(a, struct column, n + 2);
	const json_t *c = NULL;
	size_t i = 0;

	v[0] = parse_column(a, STR("Name|@name"));
	json_array_foreach(kind->columns, i, c) {
		const char *path = json_str_or(c, "jsonPath", ".");

		v[i + 1] = (struct column){
			.name = json_str_or(c, "name", "?"),
			.path = path[0] == '.' ? path + 1 : path,
			.type = json_str_or(c, "type", "string"),
			.format = json_str_or(c, "format", ""),
			.priority = (int)json_int_or(c, "priority", 0),
		};
	}
	if (n == 0)
		v[1] = parse_column(a, STR("Age|@age"));
	*ret_n = n == 0 ? 2 : n + 1;
	return v;
}

static struct column *columns_of(struct arena *a, const struct ks_kind *kind,
				 size_t *ret_n)
{
	const char *resource = ks_resource(a, kind);

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (streq(tables[i].resource, resource))
			return parse_columns(a, tables[i].columns, ret_n);
	}
	return own_columns(a, kind, ret_n);
}

static json_t *cell(struct ks *k, struct arena *a, const json_t *obj,
		    const struct column *c)
{
	const bool date = streq(c->type, "date") && c->path[0] != '@';
	json_t *v = NULL;

	if (c->path[0] == '@')
		v = ks_cell(k, a, obj, c->path + 1);
	else
		v = json_incref(json_at(obj, c->path));
	if (!v || json_is_null(v)) {
		json_decref(v);
		return c->zero ? json_integer(0)
			       : json_string(c->none     ? "<none>"
					     : c->absent ? "N/A"
							 : "");
	}
	if (c->absent && !json_is_string(v)) {
		json_t *text = json_string(json_text(a, v));

		json_decref(v);
		return text;
	}
	if (date && streq(c->path, "metadata.creationTimestamp")) {
		json_decref(v);
		return ks_cell(k, a, obj, "age");
	}
	if (json_is_object(v) || json_is_array(v)) {
		json_t *text = json_string(json_text(a, v));

		json_decref(v);
		return text;
	}
	return v;
}

static json_t *row(struct ks *k, struct arena *a, const struct column *v, size_t n,
		   json_t *obj, const char *include)
{
	json_t *cells = json_array();
	json_t *row = json_pack("{s:O}", "cells", cells);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(cells, cell(k, a, obj, &v[i]));
	json_decref(cells);
	if (streq(include, "Object"))
		json_object_set(row, "object", obj);
	else if (!streq(include, "None"))
		json_object_set(row, "object", ks_metadata_only(a, obj));
	return row;
}

static void define(json_t *list, const struct column *c)
{
	json_array_append_new(list,
			      json_pack("{s:s,s:s,s:s,s:s,s:i}", "name", c->name, "type",
					c->type, "format", c->format, "description",
					c->name, "priority", c->priority));
}

json_t *ks_table(struct ks *k, struct arena *a, const struct ks_kind *kind,
		 const json_t *items, const json_t *list_meta, const char *include)
{
	size_t n = 0;
	const struct column *columns = columns_of(a, kind, &n);
	json_t *defs = json_array();
	json_t *rows = json_array();
	json_t *meta = json_object();
	json_t *obj = NULL;
	size_t i = 0;

	for (size_t c = 0; c < n; c++)
		define(defs, &columns[c]);
	json_array_foreach(items, i, obj) {
		json_array_append_new(rows, row(k, a, columns, n, obj, include));
	}
	if (json_at(list_meta, "resourceVersion"))
		json_object_set(meta, "resourceVersion",
				json_at(list_meta, "resourceVersion"));
	if (json_at(list_meta, "continue"))
		json_object_set(meta, "continue", json_at(list_meta, "continue"));
	return json_packf(a, "{s:s,s:s,s:o,s:o,s:o}", "kind", "Table", "apiVersion",
			  "meta.k8s.io/v1", "metadata", meta, "columnDefinitions", defs,
			  "rows", rows);
}
