/* What the kubelet and a container meet when a volume is an S3 bucket. */
#include <string.h>

#include "tests/cloud/kube/server.h"

static const char S3_DRIVER[] = "s3.csi.aws.com";

static const json_t *volume_of(struct ks *k, const json_t *pod, const json_t *v)
{
	const json_t *claim = ks_at(k, "/persistentvolumeclaims",
				    json_str_at(pod, "metadata.namespace"),
				    json_str_at(v, "persistentVolumeClaim.claimName"));

	return ks_at(k, "/persistentvolumes", NULL,
		     json_str_at(claim, "spec.volumeName"));
}

static bool option(const json_t *pv, const char *name, const char **ret_value)
{
	const json_t *o = NULL;
	size_t i = 0;
	const size_t n = strlen(name);

	json_array_foreach(json_at(pv, "spec.mountOptions"), i, o) {
		const char *text = json_string_value(o);

		while (text && *text == '-')
			text++;
		if (!text || strncmp(text, name, n) != 0 ||
		    (text[n] && text[n] != ' ' && text[n] != '='))
			continue;
		if (ret_value)
			*ret_value = text[n] ? text + n + 1 : "";
		return true;
	}
	return false;
}

/* The driver's node pod: of the add-on, or of the upstream chart. */
static bool driver_on(struct ks *k, const char *driver, const char *node)
{
	const char *short_name = streq(driver, S3_DRIVER) ? "s3-csi" : "csi";
	const char *key = NULL;
	json_t *pod = NULL;

	json_object_foreach(ks_all(k, "/pods"), key, pod) {
		if (streq(json_str_at(pod, "spec.nodeName"), node) && ks_pod_ready(pod) &&
		    streq(json_str_at(pod, "metadata.ownerReferences.0.kind"),
			  "DaemonSet") &&
		    strstr(json_str_or(pod, "metadata.ownerReferences.0.name", ""),
			   short_name))
			return true;
	}
	return false;
}

static bool uses_handle(struct ks *k, const json_t *pod, const char *handle,
			const json_t *other_than)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(json_at(pod, "spec.volumes"), i, v) {
		const json_t *pv = volume_of(k, pod, v);

		if (pv && pv != other_than &&
		    streq(json_str_at(pv, "spec.csi.volumeHandle"), handle) &&
		    streq(json_str_at(pv, "spec.csi.driver"), S3_DRIVER))
			return true;
	}
	return false;
}

/* The kubelet knows a volume by its handle: a second one never gets mounted. */
static bool handle_taken(struct ks *k, const json_t *pod, const json_t *pv,
			 const char *node)
{
	const char *handle = json_str_or(pv, "spec.csi.volumeHandle", "");
	const char *key = NULL;
	json_t *other = NULL;

	json_object_foreach(ks_all(k, "/pods"), key, other) {
		if (!streq(json_str_at(other, "spec.nodeName"), node) ||
		    ks_pod_done(other) ||
		    (other != pod &&
		     !streq(json_str_at(other, "status.phase"), "Running")))
			continue;
		if (uses_handle(k, other, handle, pv))
			return true;
	}
	return false;
}

static const char *bucket_problem(struct ks *k, struct arena *a, const json_t *pv)
{
	const char *bucket = json_str_at(pv, "spec.csi.volumeAttributes.bucketName");
	const char *prefix = NULL;
	json_t *out = NULL;
	const char *code = NULL;
	const char *message = NULL;

	if (!bucket)
		return "Bucket name not provided";
	if (option(pv, "prefix", &prefix) && *prefix && prefix[strlen(prefix) - 1] != '/')
		return "invalid value for '--prefix <PREFIX>': prefix must end in '/'";
	if (!cloud_invoke(k->cloud, a, "s3", "HeadBucket",
			  json_packf(a, "{s:s}", "Bucket", bucket), NULL, &out, &code,
			  &message))
		return arena_printf(
			a,
			"Failed to create mount process: mount-s3 failed: Error: The "
			"bucket %s does not exist",
			bucket);
	return NULL;
}

static const char *volume_problem(struct ks *k, struct arena *a, const json_t *pod,
				  const json_t *pv, const char *node)
{
	const char *driver = json_str_at(pv, "spec.csi.driver");

	if (!driver)
		return NULL;
	if (!ks_at(k, "storage.k8s.io/csidrivers", NULL, driver) ||
	    !driver_on(k, driver, node))
		return arena_printf(
			a,
			"kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: "
			"driver name %s not found in the list of registered CSI drivers",
			driver);
	if (!streq(driver, S3_DRIVER))
		return NULL;
	if (handle_taken(k, pod, pv, node))
		return "rpc error: code = DeadlineExceeded desc = context deadline exceeded: "
		       "volume handle is in use by another volume on this node";
	return bucket_problem(k, a, pv);
}

const char *ks_mount_problem(struct ks *k, struct arena *a, const json_t *pod,
			     const char *node)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(json_at(pod, "spec.volumes"), i, v) {
		const json_t *pv = NULL;
		const char *why = NULL;

		if (!json_at(v, "persistentVolumeClaim"))
			continue;
		pv = volume_of(k, pod, v);
		if (!pv)
			return "persistentvolumeclaim not found";
		why = volume_problem(k, a, pod, pv, node);
		if (why)
			return arena_printf(
				a, "MountVolume.SetUp failed for volume \"%s\" : %s",
				json_str_or(pv, "metadata.name", ""), why);
	}
	return NULL;
}

/* --- write, read, remove
 * ----------------------------------------------------------------- */

static bool s3_call(struct ks *k, struct arena *a, const char *op, const json_t *in,
		    const char **ret_message)
{
	json_t *out = NULL;
	const char *code = NULL;

	return cloud_invoke(k->cloud, a, "s3", op, in, NULL, &out, &code, ret_message);
}

/* The shell's words are not run, but a script that only lists writes nothing. */
static bool writes(const json_t *pod)
{
	const json_t *words = json_at(pod, "spec.containers.0.command");
	const char *script =
		json_string_value(json_array_get(words, json_array_size(words) - 1));

	return !script || strstr(script, "rm ") || strstr(script, ">$") ||
	       strstr(script, ">/data");
}

static const char *options_problem(const json_t *pod, const json_t *pv)
{
	const int64_t uid =
		json_int_or(pod, "spec.containers.0.securityContext.runAsUser",
			    json_int_or(pod, "spec.securityContext.runAsUser", 0));
	const char *owner = NULL;

	if (uid != 0 && !option(pv, "allow-other", NULL))
		return "touch: /data/probe: Permission denied";
	if (uid != 0 && (!option(pv, "uid", &owner) || !*owner))
		return "touch: /data/probe: Permission denied";
	if (writes(pod) && option(pv, "read-only", NULL))
		return "sh: can't create /data/probe: Read-only file system";
	if (writes(pod) && !option(pv, "allow-delete", NULL))
		return "rm: can't remove '/data/probe': Operation not permitted";
	return NULL;
}

static const char *probe(struct ks *k, struct arena *a, const json_t *pod,
			 const json_t *pv)
{
	const char *bucket = json_str_or(pv, "spec.csi.volumeAttributes.bucketName", "");
	const char *problem = options_problem(pod, pv);
	const char *prefix = "";
	const char *message = NULL;
	const char *key = NULL;

	if (problem && !str_starts(problem, "rm:"))
		return problem;
	if (!writes(pod))
		return NULL;
	option(pv, "prefix", &prefix);
	key = arena_printf(a, "%s%s", prefix, json_str_or(pod, "metadata.name", ""));
	if (!s3_call(k, a, "PutObject",
		     json_packf(a, "{s:s,s:s,s:s}", "Bucket", bucket, "Key", key, "Body",
				"ok"),
		     &message))
		return arena_printf(a, "sh: write error: %s",
				    message ? message : "I/O error");
	if (problem)
		return problem;
	if (!s3_call(k, a, "DeleteObject",
		     json_packf(a, "{s:s,s:s}", "Bucket", bucket, "Key", key), &message))
		return arena_printf(a, "rm: %s", message ? message : "I/O error");
	return NULL;
}

/* Commands are not run. A busybox container over a bucket is taken to write,
 * read and remove a file there. */
const char *ks_probe_problem(struct ks *k, struct arena *a, const json_t *pod)
{
	const json_t *v = NULL;
	size_t i = 0;

	if (!strstr(json_str_or(pod, "spec.containers.0.image", ""), "busybox"))
		return NULL;
	json_array_foreach(json_at(pod, "spec.volumes"), i, v) {
		const json_t *pv = volume_of(k, pod, v);
		const char *problem = NULL;

		if (!streq(json_str_at(pv, "spec.csi.driver"), S3_DRIVER))
			continue;
		problem = probe(k, a, pod, pv);
		if (problem)
			return problem;
	}
	return NULL;
}
