#include "core/domain/storage/storage.h"

#include <string.h>

#include "core/domain/step/names.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

const char *storage_name(const struct step_ctx *c)
{
	return json_str_or(c->input, "name", "data");
}

const char *storage_namespace(const struct step_ctx *c)
{
	return json_str_or(c->input, "namespace", "default");
}

const char *storage_bucket(const struct step_ctx *c)
{
	const char *bucket = step_input(c, "bucket");

	return bucket ? bucket : name_bucket(c);
}

/* Of the rule before name_join(): two storages could have the same. */
static const char *earlier_volume(const struct step_ctx *c)
{
	return arena_printf(c->arena, "is-%s-%s-%s", c->target, storage_namespace(c),
			    storage_name(c));
}

/* What is recorded of a storage that exists comes before what a new one would get. */
const char *storage_volume(const struct step_ctx *c)
{
	const char *recorded = json_str_at(c->data, "volume");
	const struct name_part parts[] = {NAME_FIXED("is"), NAME_FREE(c->target),
					  NAME_FREE(storage_namespace(c)),
					  NAME_FREE(storage_name(c))};

	if (!recorded)
		recorded = step_input(c, "volume");
	return recorded ? recorded : name_join(c->arena, &name_rule_object, parts, 4);
}

/* The driver's right has the age of the volume. */
const char *storage_policy(const struct step_ctx *c)
{
	const struct name_part parts[] = {NAME_FIXED("storage"),
					  NAME_FREE(storage_namespace(c)),
					  NAME_FREE(storage_name(c))};
	const struct name_part volume[] = {NAME_FIXED("is"), NAME_FREE(c->target),
					   parts[1], parts[2]};
	const char *earlier = earlier_volume(c);

	if (streq(storage_volume(c), earlier) &&
	    !streq(name_join(c->arena, &name_rule_object, volume, 4), earlier))
		return arena_printf(c->arena, "storage-%s-%s", storage_namespace(c),
				    storage_name(c));
	return name_join(c->arena, &name_rule_policy, parts, 3);
}

const char *storage_probe(const struct step_ctx *c)
{
	const struct name_part parts[] = {NAME_FIXED("is-probe"),
					  NAME_FREE(storage_name(c))};

	return name_join(c->arena, &name_rule_label, parts, 2);
}

/*
 * Unique in the cluster (case ST-01), and another one when the bucket or the
 * prefix is another: the driver caches mounts by handle.
 */
static const char *volume_handle(const struct step_ctx *c)
{
	const char *digest =
		json_digest(c->arena, json_packf(c->arena, "[s, s]", storage_bucket(c),
						 json_str_or(c->input, "prefix", "")));

	return arena_printf(c->arena, "%s-%.8s", storage_volume(c), digest);
}

static json_t *labels(const struct step_ctx *c)
{
	return json_pack("{s:s, s:s, s:s*, s:s}", LABEL_MANAGED, "instantstart",
			 LABEL_CLUSTER, name_label(c), LABEL_INSTALLATION,
			 c->where->installation, "instantstart/storage", storage_name(c));
}

static void option(json_t *list, const char *text)
{
	json_array_append_new(list, json_string(text));
}

/* Case ST-04: without these a pod can neither delete, overwrite nor read as
 * another user. */
static json_t *mount_options(struct step_ctx *c)
{
	json_t *list = json_array();
	const char *prefix = step_input(c, "prefix");
	int64_t uid = json_int_or(c->input, "uid", -1);
	int64_t gid = json_int_or(c->input, "gid", -1);

	option(list, "allow-other");
	if (json_bool_or(c->input, "read_only", false)) {
		option(list, "read-only");
	} else {
		option(list, "allow-delete");
		option(list, "allow-overwrite");
	}
	option(list,
	       arena_printf(c->arena, "region %s",
			    json_str_or(c->data, "bucket_region", c->where->region)));
	if (prefix)
		option(list, arena_printf(c->arena, "prefix %s", prefix));
	if (uid >= 0)
		option(list, arena_printf(c->arena, "uid=%lld", (long long)uid));
	if (gid >= 0)
		option(list, arena_printf(c->arena, "gid=%lld", (long long)gid));
	return list;
}

static json_t *access_modes(const struct step_ctx *c)
{
	return json_pack("[s]", json_bool_or(c->input, "read_only", false)
					? "ReadOnlyMany"
					: "ReadWriteMany");
}

json_t *storage_volume_object(struct step_ctx *c)
{
	return json_packf(
		c->arena,
		"{s:s, s:s, s:{s:s, s:o}, s:{s:{s:s}, s:o, s:s, s:s, s:{s:s, s:s}, s:o,"
		" s:{s:s, s:s, s:{s:s}}}}",
		"apiVersion", "v1", "kind", "PersistentVolume", "metadata", "name",
		storage_volume(c), "labels", labels(c), "spec", "capacity", "storage",
		"1200Gi", "accessModes", access_modes(c), "storageClassName", "",
		"persistentVolumeReclaimPolicy", "Retain", "claimRef", "namespace",
		storage_namespace(c), "name", storage_name(c), "mountOptions",
		mount_options(c), "csi", "driver", "s3.csi.aws.com", "volumeHandle",
		volume_handle(c), "volumeAttributes", "bucketName", storage_bucket(c));
}

json_t *storage_claim_object(struct step_ctx *c)
{
	return json_packf(c->arena,
			  "{s:s, s:s, s:{s:s, s:s, s:o}, s:{s:o, s:s, s:s, s:{s:{s:s}}}}",
			  "apiVersion", "v1", "kind", "PersistentVolumeClaim", "metadata",
			  "name", storage_name(c), "namespace", storage_namespace(c),
			  "labels", labels(c), "spec", "accessModes", access_modes(c),
			  "storageClassName", "", "volumeName", storage_volume(c),
			  "resources", "requests", "storage", "1200Gi");
}

json_t *storage_namespace_object(struct step_ctx *c)
{
	return json_packf(c->arena, "{s:s, s:s, s:{s:s, s:{s:s, s:s*}}}", "apiVersion",
			  "v1", "kind", "Namespace", "metadata", "name",
			  storage_namespace(c), "labels", LABEL_MANAGED, "instantstart",
			  LABEL_INSTALLATION, c->where->installation);
}

/* Writes, reads and removes one object; of a read-only mount, lists. */
static const char *probe_script(const struct step_ctx *c)
{
	if (json_bool_or(c->input, "read_only", false))
		return "set -e; ls /data >/dev/null; echo mount is readable";
	return arena_printf(c->arena,
			    "set -e; f=/data/.instantstart-probe-%s; echo %s >$f; "
			    "test \"$(cat $f)\" = %s; rm $f; echo mount is sound",
			    c->op_id, c->op_id, c->op_id);
}

json_t *storage_probe_object(struct step_ctx *c)
{
	json_t *container = json_pack(
		"{s:s, s:s, s:[s,s,s], s:[{s:s, s:s}], s:{s:{s:s,s:s}, s:{s:s,s:s}}}",
		"name", "probe", "image", c->cfg->kube_image, "command", "sh", "-c",
		probe_script(c), "volumeMounts", "name", "data", "mountPath", "/data",
		"resources", "requests", "cpu", "50m", "memory", "32Mi", "limits", "cpu",
		"200m", "memory", "64Mi");

	return json_packf(
		c->arena,
		"{s:s, s:s, s:{s:s, s:s, s:o},"
		" s:{s:i, s:i, s:{s:{s:o}, s:{s:s, s:[o], s:[{s:s, s:{s:s}}], s:[{s:s}]}}}}",
		"apiVersion", "batch/v1", "kind", "Job", "metadata", "name",
		storage_probe(c), "namespace", storage_namespace(c), "labels", labels(c),
		"spec", "backoffLimit", 2, "activeDeadlineSeconds", 600, "template",
		"metadata", "labels", labels(c), "spec", "restartPolicy", "Never",
		"containers", container, "volumes", "name", "data",
		"persistentVolumeClaim", "claimName", storage_name(c),
		/* Nodes under a health check are tainted; the probe may run there. */
		"tolerations", "operator", "Exists");
}

const char *storage_grant_id(const struct step_ctx *c)
{
	return arena_printf(c->arena, "%s/%s", name_role(c, ROLE_S3_CSI),
			    storage_policy(c));
}
