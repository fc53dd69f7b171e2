#include <string.h>

#include "tests/cloud/kube/server.h"

/* --- label selectors: a=b, a==b, a!=b, a in (b,c), a notin (b,c), a, !a --- */

struct term {
	struct str key, values;
	enum {
		OP_EQ,
		OP_NE,
		OP_IN,
		OP_NOT_IN,
		OP_EXISTS,
		OP_NOT,
		OP_GREATER,
		OP_LESS
	} op;
};

/* Cuts at the next comma outside parentheses. */
static struct str cut_term(struct str *rest)
{
	int depth = 0;

	for (size_t i = 0; i < rest->n; i++) {
		if (rest->p[i] == '(')
			depth++;
		if (rest->p[i] == ')')
			depth--;
		if (rest->p[i] == ',' && depth == 0) {
			const struct str term = {rest->p, i};

			*rest = (struct str){rest->p + i + 1, rest->n - i - 1};
			return str_trim(term);
		}
	}
	const struct str last = *rest;

	*rest = (struct str){NULL, 0};
	return str_trim(last);
}

static bool is_value(struct str s)
{
	const char *inner =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	if (s.n > 63)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		const bool edge = i == 0 || i + 1 == s.n;

		if (!strchr(inner, s.p[i]) || (edge && strchr("-_.", s.p[i])))
			return false;
	}
	return true;
}

static bool is_key(struct str s)
{
	const char *slash = s.n > 0 ? memchr(s.p, '/', s.n) : NULL;
	struct str name = s;

	if (slash)
		name = (struct str){slash + 1, s.n - (size_t)(slash - s.p) - 1};
	return name.n > 0 && is_value(name) && (!slash || slash > s.p);
}

static bool are_values(struct str values)
{
	while (values.p) {
		if (!is_value(str_trim(str_cut(&values, ','))))
			return false;
	}
	return true;
}

static bool parse_set(struct str s, struct term *ret)
{
	const char *open = memchr(s.p, '(', s.n);
	struct str head = {s.p, open ? (size_t)(open - s.p) : 0};

	if (!open || s.p[s.n - 1] != ')')
		return false;
	head = str_trim(head);
	ret->values = (struct str){open + 1, s.n - (size_t)(open - s.p) - 2};
	if (str_has_suffix(head, STR(" notin"))) {
		ret->op = OP_NOT_IN;
		head.n -= 6;
	} else if (str_has_suffix(head, STR(" in"))) {
		ret->op = OP_IN;
		head.n -= 3;
	} else {
		return false;
	}
	ret->key = str_trim(head);
	return are_values(ret->values);
}

static bool parse_order(struct str s, const char *at, struct term *ret)
{
	int64_t n = 0;

	ret->op = *at == '>' ? OP_GREATER : OP_LESS;
	ret->key = str_trim((struct str){s.p, (size_t)(at - s.p)});
	ret->values = str_trim((struct str){at + 1, s.n - (size_t)(at - s.p) - 1});
	return str_to_i64(ret->values, &n);
}

static bool parse_equal(struct str s, const char *eq, struct term *ret)
{
	ret->op = eq > s.p && eq[-1] == '!' ? OP_NE : OP_EQ;
	ret->key = str_trim((struct str){s.p, (size_t)(eq - s.p) - (ret->op == OP_NE)});
	ret->values = (struct str){eq + 1, s.n - (size_t)(eq - s.p) - 1};
	if (ret->values.n > 0 && ret->values.p[0] == '=')
		ret->values = (struct str){ret->values.p + 1, ret->values.n - 1};
	ret->values = str_trim(ret->values);
	return true;
}

static bool parse_label(struct str s, struct term *ret)
{
	const char *eq = NULL;
	const char *order = NULL;

	*ret = (struct term){.key = s, .op = OP_EXISTS};
	if (s.n == 0)
		return false;
	if (memchr(s.p, '(', s.n))
		return parse_set(s, ret) && is_key(ret->key);
	if (s.p[0] == '!') {
		ret->op = OP_NOT;
		ret->key = str_trim((struct str){s.p + 1, s.n - 1});
		return is_key(ret->key);
	}
	eq = memchr(s.p, '=', s.n);
	if (eq)
		return parse_equal(s, eq, ret) && is_key(ret->key) &&
		       is_value(ret->values);
	order = memchr(s.p, '>', s.n);
	order = order ? order : memchr(s.p, '<', s.n);
	if (order)
		return parse_order(s, order, ret) && is_key(ret->key);
	return is_key(s);
}

static bool parse_field(struct str s, struct term *ret)
{
	const char *eq = s.n > 0 ? memchr(s.p, '=', s.n) : NULL;

	*ret = (struct term){.op = OP_EQ};
	return eq && parse_equal(s, eq, ret);
}

static bool listed(struct str values, const char *z)
{
	while (values.p) {
		if (str_is(str_trim(str_cut(&values, ',')), z))
			return true;
	}
	return false;
}

static bool holds(const struct term *t, const char *value)
{
	int64_t have = 0;
	int64_t want = 0;

	switch (t->op) {
	case OP_EQ:
		return value && str_is(t->values, value);
	case OP_NE:
		return !value || !str_is(t->values, value);
	case OP_IN:
		return value && listed(t->values, value);
	case OP_NOT_IN:
		return !value || !listed(t->values, value);
	case OP_EXISTS:
		return value != NULL;
	case OP_NOT:
		return value == NULL;
	case OP_GREATER:
	case OP_LESS:
		if (!value || !str_to_i64(str_of(value), &have) ||
		    !str_to_i64(t->values, &want))
			return false;
		return t->op == OP_GREATER ? have > want : have < want;
	}
	return false;
}

static bool labels_hold(struct arena *a, const char *selector, const json_t *obj)
{
	const json_t *labels = json_at(obj, "metadata.labels");
	struct str rest = str_of(selector);

	while (rest.p && rest.n > 0) {
		struct term t;

		if (!parse_label(cut_term(&rest), &t))
			return false;
		if (!holds(&t,
			   json_string_value(json_object_get(labels, str_dup(a, t.key)))))
			return false;
	}
	return true;
}

/* --- field selectors: path=value, path!=value ----------------------------- */

static const char *field_text(struct arena *a, const json_t *obj, const char *path)
{
	const json_t *v = json_at(obj, path);

	if (json_is_string(v))
		return json_string_value(v);
	if (json_is_boolean(v))
		return json_is_true(v) ? "true" : "false";
	if (!v && (streq(path, "spec.unschedulable") || streq(path, "spec.hostNetwork")))
		return "false";
	if (!v && (streq(path, "status.successful")))
		return "0";
	if (!v)
		return "";
	return json_text(a, v);
}

static bool fields_hold(struct arena *a, const char *selector, const json_t *obj)
{
	struct str rest = str_of(selector);

	while (rest.p && rest.n > 0) {
		struct term t;
		bool equal = false;

		if (!parse_field(cut_term(&rest), &t))
			return false;
		equal = str_is(t.values, field_text(a, obj, str_dup(a, t.key)));
		if (equal != (t.op == OP_EQ))
			return false;
	}
	return true;
}

/* What a kind can be selected by, besides its name and namespace.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/ */
static const struct {
	const char *kind, *fields;
} selectable[] = {
	{"Pod", " spec.nodeName spec.restartPolicy spec.schedulerName "
		"spec.serviceAccountName spec.hostNetwork status.phase status.podIP "
		"status.podIPs status.nominatedNodeName "},
	{"Node", " spec.unschedulable "},
	{"Namespace", " status.phase "},
	{"Secret", " type "},
	{"Service", " spec.clusterIP spec.type "},
	{"Event", " involvedObject.kind involvedObject.namespace involvedObject.name "
		  "involvedObject.uid involvedObject.apiVersion "
		  "involvedObject.resourceVersion involvedObject.fieldPath reason "
		  "reportingComponent source type "},
	{"ReplicaSet", " status.replicas "},
	{"ReplicationController", " status.replicas "},
	{"Job", " status.successful "},
	{"CertificateSigningRequest", " spec.signerName "},
};

static bool can_select(struct ks_req *q, const char *path)
{
	const char *word = arena_printf(q->a, " %s ", path);

	if (streq(path, "metadata.name") || streq(path, "metadata.namespace"))
		return true;
	for (size_t i = 0; i < sizeof(selectable) / sizeof(selectable[0]); i++) {
		if (streq(selectable[i].kind, q->kind->kind) &&
		    strstr(selectable[i].fields, word))
			return true;
	}
	return false;
}

bool ks_selectors_fit(struct ks_req *q, const struct ks_selector *s)
{
	struct str rest = str_of(s->label);
	struct term t;
	bool ends = s->label && *s->label && s->label[strlen(s->label) - 1] == ',';

	while (rest.p && rest.n > 0) {
		if (!parse_label(cut_term(&rest), &t))
			return ks_fail(q, 400, "BadRequest",
				       "unable to parse requirement: %s", s->label);
	}
	if (ends)
		return ks_fail(q, 400, "BadRequest",
			       "found '', expected: identifier after ','");
	rest = str_of(s->field);
	while (rest.p && rest.n > 0) {
		if (!parse_field(cut_term(&rest), &t))
			return ks_fail(q, 400, "BadRequest",
				       "invalid selector: '%s'; can't understand '%s'",
				       s->field, s->field);
		if (!can_select(q, str_dup(q->a, t.key)))
			return ks_fail(q, 400, "BadRequest",
				       "field label not supported: %.*s", (int)t.key.n,
				       t.key.p);
	}
	return true;
}

bool ks_matches(struct arena *a, const struct ks_selector *s, const json_t *obj)
{
	return (!s->label || labels_hold(a, s->label, obj)) &&
	       (!s->field || fields_hold(a, s->field, obj));
}

/* --- LabelSelector objects -------------------------------------------------- */

static bool expression_holds(const json_t *e, const json_t *labels)
{
	const char *value =
		json_string_value(json_object_get(labels, json_str_or(e, "key", "")));
	const char *op = json_str_or(e, "operator", "");
	const json_t *v = NULL;
	bool in = false;
	size_t i = 0;

	json_array_foreach(json_at(e, "values"), i, v) {
		in |= value && streq(json_string_value(v), value);
	}
	if (streq(op, "In"))
		return in;
	if (streq(op, "NotIn"))
		return !in;
	if (streq(op, "Exists"))
		return value != NULL;
	return streq(op, "DoesNotExist") && !value;
}

bool ks_labels_match(const json_t *selector, const json_t *labels)
{
	const char *key = NULL;
	const json_t *want = NULL;
	const json_t *e = NULL;
	size_t i = 0;

	json_object_foreach(json_at(selector, "matchLabels"), key, want) {
		if (!json_equal(json_object_get(labels, key), want))
			return false;
	}
	json_array_foreach(json_at(selector, "matchExpressions"), i, e) {
		if (!expression_holds(e, labels))
			return false;
	}
	return true;
}
