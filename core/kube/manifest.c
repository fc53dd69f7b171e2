#include "core/kube/manifest.h"

#include <ctype.h>
#include <string.h>

#include "core/json/tree.h"

/* Kinds whose objects are in no namespace, whatever their metadata says. */
static const char *const everywhere[] = {"APIService",
					 "CSIDriver",
					 "ClusterIssuer",
					 "ClusterRole",
					 "ClusterRoleBinding",
					 "CustomResourceDefinition",
					 "DeviceClass",
					 "FlowSchema",
					 "IngressClass",
					 "IngressClassParams",
					 "MutatingAdmissionPolicy",
					 "MutatingAdmissionPolicyBinding",
					 "MutatingWebhookConfiguration",
					 "Namespace",
					 "Node",
					 "PersistentVolume",
					 "PriorityClass",
					 "PriorityLevelConfiguration",
					 "RuntimeClass",
					 "StorageClass",
					 "ValidatingAdmissionPolicy",
					 "ValidatingAdmissionPolicyBinding",
					 "ValidatingWebhookConfiguration",
					 "VolumeAttributesClass",
					 NULL};

static bool is_everywhere(const char *kind)
{
	for (size_t i = 0; everywhere[i]; i++)
		if (streq(everywhere[i], kind))
			return true;
	return false;
}

static bool ends_in(const char *z, const char *end)
{
	return str_has_suffix(str_of(z), str_of(end));
}

const char *manifest_plural(const char *kind, struct arena *a)
{
	char *low = arena_strdup(a, kind);
	const size_t n = strlen(low);

	for (size_t i = 0; i < n; i++)
		low[i] = (char)tolower((unsigned char)low[i]);
	if (streq(low, "endpoints"))
		return low;
	if (n > 1 && low[n - 1] == 'y' && !strchr("aeiou", low[n - 2]))
		return arena_printf(a, "%.*sies", (int)(n - 1), low);
	if (ends_in(low, "s") || ends_in(low, "x") || ends_in(low, "ch") ||
	    ends_in(low, "sh"))
		return arena_printf(a, "%ses", low);
	return arena_printf(a, "%ss", low);
}

/* --- one document --------------------------------------------------------------- */

struct head {
	const char *api, *kind, *ns, *name;
	bool some;        /* something but comments */
	bool in_metadata; /* the lines are of that block */
	size_t indent;    /* of its members; 0: not seen yet */
};

/* A plain, single- or double-quoted scalar without what is behind it. */
static const char *scalar(struct str v, struct arena *a)
{
	struct str s = str_trim(v);
	size_t n;

	if (s.n >= 2 && (s.p[0] == '"' || s.p[0] == '\'')) {
		const char *end = memchr(s.p + 1, s.p[0], s.n - 1);

		return end ? str_dup(a, (struct str){s.p + 1, (size_t)(end - s.p - 1)})
			   : NULL;
	}
	for (n = 0; n < s.n; n++)
		if (s.p[n] == '#' && n > 0 && s.p[n - 1] == ' ')
			break;
	s = str_trim((struct str){s.p, n});
	/* Of another line, or in flow style: not a name that can be read here. */
	if (s.n == 0 || strchr("{[|>&*!", s.p[0]))
		return NULL;
	return str_dup(a, s);
}

static void take(struct str line, const char *key, const char **ret, struct arena *a)
{
	const size_t n = strlen(key);

	if (line.n > n && memcmp(line.p, key, n) == 0 && line.p[n] == ':')
		*ret = scalar((struct str){line.p + n + 1, line.n - n - 1}, a);
}

static void read_line(struct head *h, struct str line, struct arena *a)
{
	size_t indent = 0;
	struct str rest;

	while (indent < line.n && line.p[indent] == ' ')
		indent++;
	rest = (struct str){line.p + indent, line.n - indent};
	if (str_trim(rest).n == 0 || rest.p[0] == '#')
		return;
	h->some = true;
	if (indent == 0) {
		h->in_metadata = rest.n >= 9 && memcmp(rest.p, "metadata:", 9) == 0;
		take(rest, "apiVersion", &h->api, a);
		take(rest, "kind", &h->kind, a);
		return;
	}
	if (!h->in_metadata)
		return;
	if (h->indent == 0)
		h->indent = indent;
	if (indent == h->indent) {
		take(rest, "name", &h->name, a);
		take(rest, "namespace", &h->ns, a);
	}
}

/* --- all of them ---------------------------------------------------------------- */

static void keep(json_t *all, const struct head *h, const char *ns, struct arena *a)
{
	json_t *o;

	if (!h->some)
		return;
	if (!h->api || !h->kind || !h->name) {
		json_put_int(all, "unread", json_int_or(all, "unread", 0) + 1);
		return;
	}
	o = json_pack("{s:s, s:s, s:s, s:s}", "api", h->api, "kind", h->kind, "plural",
		      manifest_plural(h->kind, a), "name", h->name);
	if (!is_everywhere(h->kind))
		json_put_str(o, "namespace", h->ns ? h->ns : ns);
	json_push(json_at(all, "objects"), o);
}

json_t *manifest_objects(struct str text, const char *ns, struct arena *a)
{
	json_t *all = json_packf(a, "{s:[], s:i}", "objects", "unread", 0);
	struct head h = {0};

	while (text.p) {
		struct str line = str_cut(&text, '\n');

		if (line.n > 0 && line.p[line.n - 1] == '\r')
			line.n--;
		if (line.n >= 3 && memcmp(line.p, "---", 3) == 0) {
			keep(all, &h, ns, a);
			h = (struct head){0};
			continue;
		}
		read_line(&h, line, a);
	}
	keep(all, &h, ns, a);
	return all;
}
