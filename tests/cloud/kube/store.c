#include <stdio.h>
#include <string.h>

#include "tests/cloud/kube/server.h"

enum { HISTORY_MAX = 4096 };

static int64_t now_of(struct cloud *c)
{
	struct clock *clock = cloud_clock(c);

	return clock->wall_ms(clock);
}

bool ks_by_name(struct cloud *c, const char *cluster, struct ks *ret)
{
	json_t *root = cluster ? cloud_get(c, "kube", cluster) : NULL;

	if (!root)
		return false;
	*ret = (struct ks){c, root, json_str_at(root, "name"), now_of(c)};
	return true;
}

bool ks_by_id(struct cloud *c, const char *id, struct ks *ret)
{
	const char *name = NULL;
	json_t *root = NULL;

	json_object_foreach(cloud_table(c, "kube"), name, root) {
		if (streq(json_str_at(root, "id"), id))
			return ks_by_name(c, name, ret);
	}
	return false;
}

const char *ks_time(int64_t wall_ms, char buf[static TIME_TEXT])
{
	time_rfc3339(wall_ms, buf);
	str_copy(buf + 19, TIME_TEXT - 19, "Z");
	return buf;
}

const char *ks_key(struct arena *a, const char *ns, const char *name)
{
	return arena_printf(a, "%s/%s", ns ? ns : "", name);
}

int64_t ks_rv(struct ks *k)
{
	return json_int_or(k->root, "rv", 1);
}

static json_t *member(json_t *parent, const char *name)
{
	json_t *child = json_object_get(parent, name);

	if (!child) {
		child = json_object();
		json_object_set_new(parent, name, child);
	}
	return child;
}

json_t *ks_all(struct ks *k, const char *resource)
{
	return member(member(k->root, "objects"), resource);
}

json_t *ks_objects(struct ks *k, const struct ks_kind *kind)
{
	char resource[256];

	snprintf(resource, sizeof(resource), "%s/%s", kind->group, kind->plural);
	return ks_all(k, resource);
}

json_t *ks_at(struct ks *k, const char *resource, const char *ns, const char *name)
{
	char key[600];

	snprintf(key, sizeof(key), "%s/%s", ns ? ns : "", name ? name : "");
	return json_object_get(ks_all(k, resource), key);
}

json_t *ks_get(struct ks *k, const struct ks_kind *kind, const char *ns, const char *name)
{
	char resource[256];

	snprintf(resource, sizeof(resource), "%s/%s", kind->group, kind->plural);
	return ks_at(k, resource, kind->namespaced ? ns : NULL, name);
}

json_t *ks_history(struct ks *k)
{
	json_t *list = cloud_get(k->cloud, "kube.history", k->name);

	return json_object_get(list, "events");
}

int64_t ks_history_floor(struct ks *k)
{
	return json_int_or(cloud_get(k->cloud, "kube.history", k->name), "floor", 0);
}

static void remember(struct ks *k, const struct ks_kind *kind, json_t *was, json_t *now)
{
	json_t *list = cloud_get(k->cloud, "kube.history", k->name);
	json_t *events = json_object_get(list, "events");
	const int64_t max =
		json_int_or(cloud_settings(k->cloud), "kube_history", HISTORY_MAX);
	json_t *entry = json_pack("{s:I,s:o}", "rv", (json_int_t)ks_rv(k), "resource",
				  json_sprintf("%s/%s", kind->group, kind->plural));

	if (was)
		json_object_set(entry, "was", was);
	if (now)
		json_object_set(entry, "now", now);
	json_array_append_new(events, entry);
	while ((int64_t)json_array_size(events) > max) {
		json_put_int(list, "floor",
			     json_int_or(json_array_get(events, 0), "rv", 0));
		json_array_remove(events, 0);
	}
}

static int64_t bump(struct ks *k)
{
	const int64_t rv = ks_rv(k) + 1;

	json_put_int(k->root, "rv", rv);
	return rv;
}

static void set_rv(json_t *obj, int64_t rv)
{
	json_put(obj, "metadata.resourceVersion", json_sprintf("%lld", (long long)rv));
}

json_t *ks_write(struct ks *k, const struct ks_kind *kind, json_t *obj)
{
	char key[600];
	json_t *objects = ks_objects(k, kind);
	json_t *was = NULL;

	snprintf(key, sizeof(key), "%s/%s",
		 kind->namespaced ? json_str_or(obj, "metadata.namespace", "") : "",
		 json_str_or(obj, "metadata.name", ""));
	was = json_incref(json_object_get(objects, key));
	set_rv(obj, bump(k));
	json_object_set_new(objects, key, obj);
	remember(k, kind, was, obj);
	json_decref(was);
	return obj;
}

void ks_erase(struct ks *k, const struct ks_kind *kind, const char *ns, const char *name)
{
	char key[600];
	json_t *objects = ks_objects(k, kind);
	json_t *last = NULL;
	json_t *was = NULL;

	snprintf(key, sizeof(key), "%s/%s", kind->namespaced && ns ? ns : "", name);
	was = json_incref(json_object_get(objects, key));
	if (!was)
		return;
	/* The DELETED event carries the last state with the version of the end. */
	last = json_deep_copy(was);
	set_rv(last, bump(k));
	json_object_del(objects, key);
	remember(k, kind, last, NULL);
	json_decref(was);
	json_decref(last);
}

void ks_stamp_new(struct ks *k, json_t *obj)
{
	char when[TIME_TEXT];
	struct arena a;
	const char *h = NULL;

	arena_init(&a, 0);
	h = cloud_id(k->cloud, &a, "", 32);
	json_put(obj, "metadata.uid",
		 json_sprintf("%.8s-%.4s-4%.3s-a%.3s-%.12s", h, h + 8, h + 13, h + 17,
			      h + 20));
	json_put_str(obj, "metadata.creationTimestamp", ks_time(k->now_ms, when));
	arena_free(&a);
}
