#include "core/domain/storage/look.h"

#include "core/domain/not_known.h"
#include "core/domain/pod/pod.h"
#include "core/json/tree.h"
#include "core/op/owner.h"
#include "core/op/runner.h"

const char *const storage_sources[STORAGE_SOURCES] = {"bucket", "claim", "volume"};

/* --- what that means -----------------------------------------------------------------
 */

static const char *trouble_of(struct arena *a, const json_t *row, enum storage_source s,
			      const json_t *object)
{
	const char *what = s == STORAGE_CLAIM ? "claim" : "volume";
	const char *name =
		s == STORAGE_BUCKET ? json_str_or(row, "bucket", "?")
		: s == STORAGE_CLAIM
			? arena_printf(a, "%s/%s", json_str_or(row, "namespace", "?"),
				       json_str_or(row, "name", "?"))
			: json_str_or(row, "volume", "?");
	const char *phase = json_str_or(object, "status.phase", "");

	if (!object)
		return arena_printf(a, "The %s %s no longer exists.", storage_sources[s],
				    name);
	if (s == STORAGE_BUCKET)
		return NULL;
	if (json_at(object, "metadata.deletionTimestamp"))
		return arena_printf(a, "The %s %s is being deleted.", what, name);
	if (!streq(phase, "Bound"))
		return arena_printf(a, "The %s %s is %s instead of Bound.", what, name,
				    *phase ? phase : "in no phase");
	if (s == STORAGE_CLAIM && !streq(json_str_or(object, "spec.volumeName", ""),
					 json_str_or(row, "volume", "")))
		return arena_printf(a, "The claim %s is bound to another volume, %s.",
				    name, json_str_or(object, "spec.volumeName", "?"));
	return NULL;
}

void storage_judge(struct arena *a, json_t *row,
		   const struct storage_found found[STORAGE_SOURCES])
{
	const char *why = NULL;
	bool all_told = true;

	for (enum storage_source s = 0; s < STORAGE_SOURCES; s++) {
		all_told = all_told && found[s].told;
		if (!why && found[s].told)
			why = trouble_of(a, row, s, found[s].object);
	}
	if (!streq(json_str_or(row, "status", ""), "mounted"))
		return; /* its creation ended early: that is the reason */
	json_put_str(row, "why", why);
	if (why || !all_told)
		json_put_str(row, "status", why ? "broken" : "unknown");
}

/* --- the reads -------------------------------------------------------------------------
 */

/* A look at one cluster; a source that did not answer has an error. */
struct look {
	struct call *call;
	struct kube_target target;
	json_t *items[STORAGE_SOURCES]; /* of the claims and the volumes */
	struct err failed[STORAGE_SOURCES];
	json_t *buckets; /* name → what HeadBucket said; null: gone */
};

static const char *const plurals[STORAGE_SOURCES] = {NULL, "persistentvolumeclaims",
						     "persistentvolumes"};

static bool is_late(struct call *c, struct err *e)
{
	if (c->clock->mono_ms(c->clock) <= call_read_deadline(c))
		return false;
	err_set(e, ERR_DEADLINE, "the cloud answers too slowly");
	return true;
}

static void list(struct look *l, enum storage_source s)
{
	const struct kube_request r = {.verb = KUBE_LIST,
				       .api = "v1",
				       .plural = plurals[s],
				       .label_selector = LABEL_MANAGED "=instantstart"};
	struct call *c = l->call;
	struct kube_result res;

	if (is_late(c, &l->failed[s]))
		return;
	kube_list_all(c->cloud->kube, &l->target, &r, c->arena, &res);
	if (!res.ok)
		(void)kube_err(&r, &res, &l->failed[s]);
	else
		l->items[s] = json_at(res.out, "items");
}

static const json_t *listed(const struct look *l, enum storage_source s, const char *ns,
			    const char *name)
{
	size_t i;
	json_t *v;

	json_array_foreach(l->items[s], i, v)
		if (streq(json_str_or(v, "metadata.name", ""), name) &&
		    (!ns || streq(json_str_or(v, "metadata.namespace", ""), ns)))
			return v;
	return NULL;
}

/* What is not in the list may have lost its label: asked for by name. */
static bool find_object(struct look *l, enum storage_source s, const json_t *row,
			const json_t **ret, struct err *e)
{
	const char *ns = s == STORAGE_CLAIM ? json_str_at(row, "namespace") : NULL;
	const char *name = json_str_or(row, s == STORAGE_CLAIM ? "name" : "volume", "");
	const struct kube_request r = {.verb = KUBE_GET,
				       .api = "v1",
				       .plural = plurals[s],
				       .ns = ns,
				       .name = name};
	struct kube_result res;

	*e = l->failed[s];
	if (e->code != ERR_NONE)
		return false;
	*ret = listed(l, s, ns, name);
	if (*ret)
		return true;
	if (is_late(l->call, e))
		return false;
	kube_call(l->call->cloud->kube, &l->target, &r, l->call->arena, &res);
	*ret = res.ok ? res.out : NULL;
	return res.ok || res.status == 404 || kube_err(&r, &res, e);
}

static bool find_bucket(struct look *l, const json_t *row, const json_t **ret,
			struct err *e)
{
	struct call *c = l->call;
	const char *bucket = json_str_or(row, "bucket", "");
	json_t *known = json_object_get(l->buckets, bucket), *out;

	if (known) {
		*ret = json_is_null(known) ? NULL : known;
		return true;
	}
	if (!aws_read(c->cloud->aws, AWS_S3_HeadBucket,
		      json_packf(c->arena, "{s:s}", "Bucket", bucket),
		      call_read_deadline(c), c->arena, &out, e)) {
		if (e->code != ERR_CLOUD_NOT_FOUND)
			return false;
		out = NULL;
	}
	json_object_set_new(l->buckets, bucket, out ? json_incref(out) : json_null());
	*ret = out;
	return true;
}

static void look_at(struct look *l, json_t *row)
{
	struct storage_found found[STORAGE_SOURCES] = {{0}};

	for (enum storage_source s = 0; s < STORAGE_SOURCES; s++) {
		struct err e = {0};

		found[s].told = s == STORAGE_BUCKET
					? find_bucket(l, row, &found[s].object, &e)
					: find_object(l, s, row, &found[s].object, &e);
		if (!found[s].told)
			not_known_err(row, storage_sources[s], &e);
	}
	storage_judge(l->call->arena, row, found);
}

void storage_look(struct call *c, const char *cluster, json_t *rows)
{
	struct look l = {.call = c, .buckets = json_new_object(c->arena)};
	struct err e = {0};
	size_t i;
	json_t *row;

	if (json_array_size(rows) == 0)
		return;
	if (pod_target(c, cluster, &l.target, NULL, &e)) {
		list(&l, STORAGE_CLAIM);
		list(&l, STORAGE_VOLUME);
	} else {
		l.failed[STORAGE_CLAIM] = l.failed[STORAGE_VOLUME] = e;
	}
	json_array_foreach(rows, i, row)
		look_at(&l, row);
}
