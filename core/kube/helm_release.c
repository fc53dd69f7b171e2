#include <string.h>
#include <zlib.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/json/tree.h"
#include "core/kube/helm.h"

/* A release carries its chart's templates twice; Kubernetes caps the Secret at
 * 1 MiB, and JSON of CRDs packs ten to one. */
enum { RELEASE_JSON_MAX = 24 * 1024 * 1024 };

static int64_t label_number(const json_t *secret, const char *label)
{
	const char *text = json_string_value(
		json_object_get(json_at(secret, "metadata.labels"), label));
	int64_t n = 0;

	return text && str_to_i64(str_of(text), &n) ? n : 0;
}

static const json_t *newest(const json_t *list)
{
	const json_t *found = NULL;
	const json_t *secret = NULL;
	size_t i = 0;

	json_array_foreach(json_at(list, "items"), i, secret) {
		if (!found ||
		    label_number(secret, "version") > label_number(found, "version"))
			found = secret;
	}
	return found;
}

const char *helm_release_status(const json_t *secret_list, int64_t *ret_revision,
				int64_t *ret_modified_s)
{
	const json_t *secret = newest(secret_list);

	*ret_revision = label_number(secret, "version");
	/* A release that was never touched again has createdAt only. */
	*ret_modified_s = label_number(secret, "modifiedAt");
	if (*ret_modified_s == 0)
		*ret_modified_s = label_number(secret, "createdAt");
	return json_str_at(secret, "metadata.labels.status");
}

const json_t *helm_release_record(const json_t *secret_list)
{
	return newest(secret_list);
}

bool helm_release_going(const json_t *secret_list)
{
	return json_str_at(newest(secret_list), "metadata.deletionTimestamp") != NULL;
}

int64_t helm_release_deployed(const json_t *secret_list)
{
	const json_t *secret = NULL;
	int64_t found = 0;
	size_t i = 0;

	json_array_foreach(json_at(secret_list, "items"), i, secret) {
		const int64_t revision = label_number(secret, "version");

		if (revision > found &&
		    streq(json_str_at(secret, "metadata.labels.status"), "deployed"))
			found = revision;
	}
	return found;
}

const char *helm_release_label(const json_t *secret_list, const char *label)
{
	return json_string_value(
		json_object_get(json_at(newest(secret_list), "metadata.labels"), label));
}

static void end_inflate(void *p)
{
	inflateEnd(p);
}

static const char *note(const json_t *object, const char *key)
{
	return json_string_value(
		json_object_get(json_at(object, "metadata.annotations"), key));
}

bool helm_owns(const json_t *object, const char *release, const char *ns)
{
	return streq(note(object, "meta.helm.sh/release-name"), release) &&
	       streq(note(object, "meta.helm.sh/release-namespace"), ns);
}

const char *helm_owner(const json_t *object, struct arena *a)
{
	const char *release = note(object, "meta.helm.sh/release-name");
	const char *ns = note(object, "meta.helm.sh/release-namespace");

	return release ? arena_printf(a, "%s/%s", ns ? ns : "?", release) : NULL;
}

static const char *gunzip(struct arena *a, const unsigned char *p, size_t n,
			  size_t *ret_n)
{
	unsigned char piece[16384];
	struct buf out;
	z_stream *z = arena_new(a, z_stream);
	int rc = Z_OK;

	buf_init(&out, a, RELEASE_JSON_MAX);
	z->next_in = arena_alloc(a, n);
	memcpy(z->next_in, p, n);
	z->avail_in = (uInt)n;
	if (inflateInit2(z, 16 + MAX_WBITS) != Z_OK)
		return NULL;
	arena_defer(a, end_inflate, z);
	while (rc == Z_OK && !out.overflow) {
		z->next_out = piece;
		z->avail_out = sizeof(piece);
		rc = inflate(z, Z_NO_FLUSH);
		buf_add(&out, piece, sizeof(piece) - z->avail_out);
	}
	*ret_n = out.len;
	return rc == Z_STREAM_END && !out.overflow ? buf_cstr(&out) : NULL;
}

const char *helm_release_chart_version(const json_t *secret_list, struct arena *a)
{
	const char *text = json_str_at(newest(secret_list), "data.release");
	const char *bytes = NULL;
	const char *json = NULL;
	const char *version = NULL;
	struct arena scratch; /* a release is large; its version is not */
	struct err e;
	size_t n = 0;

	if (!text || strlen(text) > RELEASE_JSON_MAX)
		return NULL;
	arena_init(&scratch, 6 * (size_t)RELEASE_JSON_MAX);
	/* Kubernetes' base64 around Helm's. */
	bytes = base64_decode(&scratch, text, NULL);
	if (bytes)
		bytes = base64_decode(&scratch, bytes, &n);
	if (bytes)
		json = gunzip(&scratch, (const unsigned char *)bytes, n, &n);
	if (json)
		version = json_str_at(json_parse(&scratch, (struct str){json, n}, &e),
				      "chart.metadata.version");
	if (version)
		version = arena_strdup(a, version);
	arena_free(&scratch);
	return version;
}
