#include <stdlib.h>
#include <string.h>

#include "tests/cloud/kube/server.h"

/* https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ */
bool ks_quantity(const json_t *value, double *ret)
{
	static const struct {
		const char *suffix;
		double factor;
	} suffixes[] = {
		{"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},
		{"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
		{"P", 1e15},    {"E", 1e18},    {"Ki", 1024.0}, {"Mi", 1048576.0},
		{"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60},
	};
	const char *text = json_string_value(value);
	char *end = NULL;
	double n = 0;

	if (json_is_number(value)) {
		if (ret)
			*ret = json_number_value(value);
		return true;
	}
	if (!text || !*text || strspn(text, "+-.0123456789") == 0)
		return false;
	n = strtod(text, &end);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (!streq(end, suffixes[i].suffix))
			continue;
		if (ret)
			*ret = n * suffixes[i].factor;
		return true;
	}
	return false;
}

bool ks_is_label(const char *z, bool letter_first)
{
	const size_t n = strlen(z);

	if (n == 0 || n > 63 || z[0] == '-' || z[n - 1] == '-')
		return false;
	if (letter_first && !(z[0] >= 'a' && z[0] <= 'z'))
		return false;
	return strspn(z, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static bool is_subdomain(const char *z)
{
	struct str rest = str_of(z);

	if (rest.n == 0 || rest.n > 253)
		return false;
	while (rest.p) {
		char part[256];
		const struct str piece = str_cut(&rest, '.');

		str_copy(part, sizeof(part), "");
		memcpy(part, piece.p, piece.n);
		part[piece.n] = '\0';
		/* Parts of a subdomain may be longer than a label. */
		if (piece.n == 0 || part[0] == '-' || part[piece.n - 1] == '-' ||
		    strspn(part, "abcdefghijklmnopqrstuvwxyz0123456789-") != piece.n)
			return false;
	}
	return true;
}

static bool is_label_name(const char *z)
{
	const size_t n = strlen(z);
	const char *outer =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

	if (n == 0 || n > 63 || !strchr(outer, z[0]) || !strchr(outer, z[n - 1]))
		return false;
	return strspn(z,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
	       n;
}

bool ks_is_label_key(struct arena *a, const char *z)
{
	const char *slash = strchr(z, '/');

	if (!slash)
		return is_label_name(z);
	return is_subdomain(arena_strndup(a, z, (size_t)(slash - z))) &&
	       is_label_name(slash + 1);
}

static bool is_group(const struct ks_kind *kind, const char *group)
{
	return streq(kind->group, group);
}

void ks_check_name(struct ks_req *q, const char *name, json_t *causes)
{
	if (is_group(q->kind, "rbac.authorization.k8s.io")) {
		if (!*name || strchr(name, '/') || strchr(name, '%') ||
		    streq(name, ".") || streq(name, ".."))
			ks_add_cause(causes, "FieldValueInvalid", "metadata.name",
				     "Invalid value: may not contain '/' or '%'");
		return;
	}
	if (streq(q->kind->plural, "namespaces") || streq(q->kind->plural, "services")) {
		const bool service = streq(q->kind->plural, "services");

		if (!ks_is_label(name, service))
			ks_add_cause(
				causes, "FieldValueInvalid", "metadata.name",
				arena_printf(
					q->a,
					"Invalid value: \"%s\": a %s label must consist "
					"of lower case alphanumeric characters or '-'",
					name, service ? "DNS-1035" : "RFC 1123"));
		return;
	}
	if (!is_subdomain(name))
		ks_add_cause(
			causes, "FieldValueInvalid", "metadata.name",
			arena_printf(
				q->a,
				"Invalid value: \"%s\": a lowercase RFC 1123 subdomain "
				"must consist of lower case alphanumeric characters, "
				"'-' or '.', and must start and end with an "
				"alphanumeric character",
				name));
}

void ks_check_labels(struct ks_req *q, const json_t *obj, json_t *causes)
{
	const char *key = NULL;
	const json_t *v = NULL;
	size_t bytes = 0;

	json_object_foreach(json_at(obj, "metadata.labels"), key, v) {
		const char *text = json_string_value(v);

		/* A job's own, which are judged where its pods have them. */
		if (streq(key, "job-name") || streq(key, "batch.kubernetes.io/job-name"))
			continue;

		if (!ks_is_label_key(q->a, key))
			ks_add_cause(causes, "FieldValueInvalid", "metadata.labels",
				     arena_printf(q->a,
						  "Invalid value: \"%s\": " NAME_RULE,
						  key));
		if (text && *text && !is_label_name(text))
			ks_add_cause(
				causes, "FieldValueInvalid", "metadata.labels",
				arena_printf(
					q->a,
					"Invalid value: \"%s\": a valid label must be an "
					"empty string or consist of alphanumeric "
					"characters, '-', '_' or '.'",
					text));
	}
	json_object_foreach(json_at(obj, "metadata.annotations"), key, v) {
		bytes += strlen(key) + (json_is_string(v) ? json_string_length(v) : 0);
		if (!ks_is_label_key(q->a, key))
			ks_add_cause(causes, "FieldValueInvalid", "metadata.annotations",
				     arena_printf(q->a, "Invalid value: \"%s\"", key));
	}
	if (bytes > 256 * 1024)
		ks_add_cause(causes, "FieldValueTooLong", "metadata.annotations",
			     "Too long: must have at most 262144 bytes");
}
