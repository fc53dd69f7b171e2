#include <string.h>

#include "tests/cloud/kube/server.h"

/* --- label selectors: a=b, a==b, a!=b, a in (b,c), a notin (b,c), a, !a --- */

struct term {
	struct str key, values;
	enum { OP_EQ, OP_NE, OP_IN, OP_NOT_IN, OP_EXISTS, OP_NOT } op;
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
	return true;
}

static bool parse_term(struct str s, struct term *ret)
{
	const char *eq = NULL;

	*ret = (struct term){.key = s, .op = OP_EXISTS};
	if (s.n == 0)
		return false;
	if (memchr(s.p, '(', s.n))
		return parse_set(s, ret);
	if (s.p[0] == '!') {
		ret->op = OP_NOT;
		ret->key = str_trim((struct str){s.p + 1, s.n - 1});
		return ret->key.n > 0;
	}
	eq = memchr(s.p, '=', s.n);
	if (!eq)
		return !memchr(s.p, ' ', s.n);
	ret->op = eq > s.p && eq[-1] == '!' ? OP_NE : OP_EQ;
	ret->key = str_trim((struct str){s.p, (size_t)(eq - s.p) - (ret->op == OP_NE)});
	ret->values = (struct str){eq + 1, s.n - (size_t)(eq - s.p) - 1};
	if (ret->values.n > 0 && ret->values.p[0] == '=')
		ret->values = (struct str){ret->values.p + 1, ret->values.n - 1};
	ret->values = str_trim(ret->values);
	return ret->key.n > 0;
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
	}
	return false;
}

static bool labels_hold(struct arena *a, const char *selector, const json_t *obj)
{
	const json_t *labels = json_at(obj, "metadata.labels");
	struct str rest = str_of(selector);

	while (rest.p && rest.n > 0) {
		struct term t;

		if (!parse_term(cut_term(&rest), &t))
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
	if (streq(path, "spec.unschedulable"))
		return "false";
	if (streq(path, "type") || !v)
		return "";
	return json_text(a, v);
}

static bool fields_hold(struct arena *a, const char *selector, const json_t *obj)
{
	struct str rest = str_of(selector);

	while (rest.p && rest.n > 0) {
		struct term t;
		bool equal = false;

		if (!parse_term(cut_term(&rest), &t) || (t.op != OP_EQ && t.op != OP_NE))
			return false;
		equal = str_is(t.values, field_text(a, obj, str_dup(a, t.key)));
		if (equal != (t.op == OP_EQ))
			return false;
	}
	return true;
}

bool ks_selector_valid(struct arena *a, const struct ks_selector *s)
{
	struct str rest = str_of(s->label);
	struct term t;

	(void)a;
	while (rest.p && rest.n > 0) {
		if (!parse_term(cut_term(&rest), &t))
			return false;
	}
	rest = str_of(s->field);
	while (rest.p && rest.n > 0) {
		if (!parse_term(cut_term(&rest), &t) || (t.op != OP_EQ && t.op != OP_NE))
			return false;
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
