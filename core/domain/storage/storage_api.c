/* Storages of a cluster. */
#include <string.h>

#include "core/base/nearest.h"
#include "core/domain/not_known.h"
#include "core/domain/operation_out.h"
#include "core/domain/page.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/cluster_in.h"
#include "core/domain/storage/kinds.h"
#include "core/domain/storage/look.h"
#include "core/domain/storage/storage_in.h"
#include "core/json/tree.h"
#include "gen/queries.h"

const struct field storage_part_in[] = {
	FIELD(struct storage_part, skip, .doc = "Mount no storage."),
	FIELDS_STORAGE(struct storage_part), FIELD_END};

/* What the catalog holds of the storage; NULL: nothing. */
static bool find_row(struct call *c, const char *cluster, const char *ns,
		     const char *name, json_t **ret, struct err *e)
{
	struct db_rows rows;

	*ret = NULL;
	if (!DB(c->db, c->arena, &Q_catalog_get, &rows, e, "storage", cluster,
		arena_printf(c->arena, "%s/%s", ns, name)))
		return false;
	if (rows.n == 0)
		return true;
	*ret = json_parse(c->arena, str_of(db_text(&rows, 0, "doc")), e);
	return *ret != NULL;
}

/* The volume has the name that it was given, by whatever rule. */
static void put_volume(json_t *input, const json_t *row)
{
	json_put_str(input, "volume", json_str_at(row, "observed.volume"));
}

/* --- create_s3_storage ------------------------------------------------------------ */

struct create_storage {
	const char *cluster;
	MEMBERS_STORAGE
};

static const struct field create_storage_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct create_storage, cluster),
	FIELDS_STORAGE(struct create_storage), FIELD_END};

static bool run_create_storage(struct call *c, const void *in, struct reply *ret,
			       struct err *e)
{
	const struct create_storage *q = in;
	struct cluster k;
	json_t *input, *row;

	if (!cluster_mean(c, q->cluster, &k, e) ||
	    !find_row(c, k.name, q->namespace, q->name, &row, e))
		return false;
	input = cluster_input(c, &k, in);
	put_volume(input, row);
	return call_submit(c, &kind_create_s3_storage, k.name, input, ret, e);
}

extern const struct capability cap_create_s3_storage;
const struct capability cap_create_s3_storage = {
	.name = "create_s3_storage",
	.method = "POST",
	.path = "/clusters/{cluster}/storages",
	.title = "Mount S3 storage",
	.doc = "Mounts an S3 bucket as a volume that pods claim by name. Verifies it "
	       "with a job that writes, reads and deletes one object.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_IDEMPOTENT,
	.in = create_storage_in,
	.in_size = sizeof(struct create_storage),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "name",
	.run = run_create_storage,
};

/* --- list_storages ------------------------------------------------------------------ */

struct list_storages {
	const char *cluster;
	int64_t limit;
	const char *cursor;
};

static const struct field list_storages_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct list_storages, cluster),
	PAGE_WHOLE_FIELDS(struct list_storages), FIELD_END};

static const struct field storage_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Name of the storage and of its claim."),
	OUT("namespace", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Namespace of the claim."),
	OUT("type", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "s3."),
	OUT("bucket", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Bucket name."),
	OUT("prefix", FIELD_STR, .doc = "Mounted prefix of the bucket."),
	OUT("volume", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the volume."),
	OUT("status", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "mounted, broken (see why), partial if its creation ended early, or "
		   "unknown (see not_known)."),
	OUT("why", FIELD_STR, .doc = "Why it is broken."),
	OUT("read_only", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether the mount is read-only."),
	OUT("observed_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Time of the observation."),
	NOT_KNOWN_OUT,
	FIELD_END};

static const struct field list_storages_out[] = {PAGE_OUT(storage_out), FIELD_END};

static bool run_list_storages(struct call *c, const void *in, struct reply *ret,
			      struct err *e)
{
	const struct list_storages *q = in;
	json_t *items = json_new_list(c->arena), *row, *next;
	struct cluster k;
	struct db_rows rows;
	char at[TIME_TEXT];

	if (!cluster_mean(c, q->cluster, &k, e) ||
	    !DB(c->db, c->arena, &Q_catalog_rows, &rows, e, "storage", k.name))
		return false;
	for (int i = 0; i < rows.n; i++) {
		row = json_parse(c->arena, str_of(db_text(&rows, i, "observed")), e);
		if (!row)
			return false;
		json_put_str(row, "observed_at",
			     time_rfc3339(c->clock->wall_ms(c->clock), at));
		json_array_append(items, row);
	}
	next = page_cut(c->arena, items, "name", q->limit, q->cursor);
	storage_look(c, k.name, items);
	reply_tree(
		c, ret,
		json_packf(c->arena, "{s:O, s:O}", "items", items, "next_cursor", next));
	return true;
}

extern const struct capability cap_list_storages;
const struct capability cap_list_storages = {
	.name = "list_storages",
	.method = "GET",
	.path = "/clusters/{cluster}/storages",
	.title = "List storages",
	.doc = "Lists the storage of a cluster, and whether its bucket, claim and volume "
	       "still exist.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD | CAP_LIST,
	.in = list_storages_in,
	.in_size = sizeof(struct list_storages),
	.out = list_storages_out,
	.run = run_list_storages,
};

/* --- delete_storage --------------------------------------------------------------------
 */

struct delete_storage {
	const char *cluster;
	const char *name;
	const char *namespace;
};

static const struct field delete_storage_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct delete_storage, cluster),
	FIELD(struct delete_storage, name, .flags = FIELD_REQUIRED | FIELD_PATH,
	      .pattern = DNS_LABEL, .max = 40, .doc = "Name of the storage."),
	FIELD(struct delete_storage, namespace, .flags = FIELD_QUERY,
	      .pattern = DNS_LABEL, .max = 63, .dflt = "\"default\"",
	      .doc = "Namespace of its claim."),
	FIELD_END};

static const char *hint(struct call *c, const struct cluster *k, const char *name)
{
	struct nearest near = {.wanted = name};
	struct err ignored = {0};
	struct db_rows rows;

	if (DB(c->db, c->arena, &Q_catalog_names, &rows, &ignored, k->name, "storage"))
		for (int i = 0; i < rows.n; i++) {
			const char *slash = strchr(db_text(&rows, i, "name"), '/');

			nearest_offer(&near,
				      slash ? slash + 1 : db_text(&rows, i, "name"));
		}
	return nearest_hint(&near, c->arena, "a name from list_storages");
}

static bool run_delete_storage(struct call *c, const void *in, struct reply *ret,
			       struct err *e)
{
	const struct delete_storage *q = in;
	struct cluster k;
	json_t *input, *row;

	if (!cluster_mean(c, q->cluster, &k, e) ||
	    !find_row(c, k.name, q->namespace, q->name, &row, e))
		return false;
	if (!row) {
		err_set(e, ERR_NOT_FOUND, "There is no storage %s/%s in %s", q->namespace,
			q->name, k.name);
		return err_field(e, "/name", q->name, hint(c, &k, q->name));
	}
	input = cluster_input(c, &k, in);
	put_volume(input, row);
	return call_submit(c, &kind_delete_storage, k.name, input, ret, e);
}

extern const struct capability cap_delete_storage;
const struct capability cap_delete_storage = {
	.name = "delete_storage",
	.method = "DELETE",
	.path = "/clusters/{cluster}/storages/{name}",
	.title = "Unmount storage",
	.doc = "Removes the claim, the volume and the driver's permission. The bucket "
	       "and its objects stay. Refused while pods use the storage. If workloads "
	       "refer to it, the plan lists them, and its confirm value is required.",
	.effect = CAP_DESTROY,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_STAKES,
	.in = delete_storage_in,
	.in_size = sizeof(struct delete_storage),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "name",
	.run = run_delete_storage,
};
