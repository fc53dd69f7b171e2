/* What a pod asks for against what types have and pools say. */
#include <stdlib.h>
#include <string.h>

#include "core/domain/karpenter/pending.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

bool pending_quantity(const json_t *value, double *ret)
{
	static const struct {
		const char *suffix;
		double factor;
	} units[] = {{"", 1},
		     {"m", 1e-3},
		     {"k", 1e3},
		     {"M", 1e6},
		     {"G", 1e9},
		     {"T", 1e12},
		     {"Ki", 1024},
		     {"Mi", 1048576.0},
		     {"Gi", 1073741824.0},
		     {"Ti", 1099511627776.0}};
	const char *text = json_string_value(value);
	char *end;

	if (json_is_number(value)) {
		*ret = json_number_value(value);
		return true;
	}
	if (!text)
		return false;
	*ret = strtod(text, &end);
	for (size_t i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++)
		if (streq(end, units[i].suffix)) {
			*ret *= units[i].factor;
			return true;
		}
	return false;
}

static void add(json_t *sum, const json_t *requests)
{
	const char *name;
	json_t *q;
	double n;

	json_object_foreach((json_t *)(uintptr_t)requests, name, q)
		if (pending_quantity(q, &n))
			json_object_set_new(
				sum, name,
				json_real(json_number_value(json_object_get(sum, name)) +
					  n));
}

/* Extended resources may be given as limits alone. */
static const json_t *requests_of(const json_t *container)
{
	const json_t *requests = json_at(container, "resources.requests");

	return requests ? requests : json_at(container, "resources.limits");
}

struct pending_want pending_want(struct arena *a, const json_t *pod)
{
	struct pending_want w = {pod, json_new_object(a)};
	size_t i;
	json_t *c;

	json_array_foreach(json_at(pod, "spec.containers"), i, c)
		add(w.requests, requests_of(c));
	return w;
}

/* "ml.g5.xlarge" is EC2's "g5.xlarge". */
static const json_t *type_row(const struct pending_world *w, const char *type)
{
	return json_find(w->types, "InstanceType",
			 str_starts(type, "ml.") ? type + 3 : type);
}

double pending_has(const struct pending_world *w, const char *type, const char *resource)
{
	const json_t *t = type_row(w, type);
	double n = 0;
	size_t i;
	json_t *g;

	if (streq(resource, "cpu"))
		return json_num_or(t, "VCpuInfo.DefaultVCpus", 0);
	if (streq(resource, "memory"))
		return json_num_or(t, "MemoryInfo.SizeInMiB", 0) * 1048576.0;
	if (streq(resource, "vpc.amazonaws.com/efa"))
		return json_num_or(t, "NetworkInfo.EfaInfo.MaximumEfaInterfaces", 0);
	if (streq(resource, "nvidia.com/gpu"))
		json_array_foreach(json_at(t, "GpuInfo.Gpus"), i, g)
			n += json_num_or(g, "Count", 0);
	if (str_starts(resource, "aws.amazon.com/neuron"))
		json_array_foreach(json_at(t, "NeuronInfo.NeuronDevices"), i, g)
			n += json_num_or(g, "Count", 0);
	return n;
}

static bool is_known(const char *resource)
{
	static const char *const known[] = {"cpu", "memory", "nvidia.com/gpu",
					    "vpc.amazonaws.com/efa",
					    "aws.amazon.com/neuron"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (streq(resource, known[i]))
			return true;
	return false;
}

const char *pending_short(const struct pending_world *w, const struct pending_want *want,
			  const char *type)
{
	const char *name;
	json_t *n;

	if (!type_row(w, type))
		return NULL;
	json_object_foreach(want->requests, name, n)
		if (is_known(name) && json_number_value(n) > pending_has(w, type, name))
			return name;
	return NULL;
}

/* --- taints and selectors ---------------------------------------------------------- */

static bool tolerates(const json_t *pod, const json_t *taint)
{
	size_t i;
	json_t *t;

	json_array_foreach(json_at(pod, "spec.tolerations"), i, t) {
		const char *key = json_str_or(t, "key", "");
		const char *effect = json_str_or(t, "effect", "");

		if ((*key && !streq(key, json_str_at(taint, "key"))) ||
		    (*effect && !streq(effect, json_str_at(taint, "effect"))))
			continue;
		if (streq(json_str_at(t, "operator"), "Exists") ||
		    streq(json_str_or(t, "value", ""), json_str_or(taint, "value", "")))
			return true;
	}
	return false;
}

static const char *untolerated(const struct pending_world *w, const json_t *pod,
			       const json_t *pool)
{
	size_t i;
	json_t *t;

	json_array_foreach(json_at(pool, "spec.template.spec.taints"), i, t)
		if (!streq(json_str_at(t, "effect"), "PreferNoSchedule") &&
		    !tolerates(pod, t))
			return arena_printf(
				w->arena, "it does not tolerate the taint %s of the pool",
				json_str_or(t, "key", "?"));
	return NULL;
}

/* Labels that a node has by itself are not the pool's affair: types, zones and groups
 * are judged elsewhere, or not at all. */
static bool is_of_pool(const char *key)
{
	return !strstr(key, "kubernetes.io/") &&
	       !strstr(key, "sagemaker.amazonaws.com/") && !strstr(key, "k8s.aws/");
}

const char *pending_mismatch(const struct pending_world *w, const json_t *pod,
			     const json_t *pool)
{
	const json_t *labels = json_at(pool, "spec.template.metadata.labels");
	const char *why = untolerated(w, pod, pool), *key;
	json_t *v;

	if (why)
		return why;
	json_object_foreach(json_at(pod, "spec.nodeSelector"), key, v) {
		const char *has = json_string_value(json_object_get(labels, key));

		if (streq(key, "karpenter.sh/nodepool"))
			has = json_str_at(pool, "metadata.name");
		else if (streq(key, "karpenter.sh/capacity-type"))
			continue;
		if (is_of_pool(key) && !streq(has, json_string_value(v)))
			return arena_printf(
				w->arena,
				"it selects nodes with %s=%s, which the nodes of the "
				"pool do not have",
				key, json_string_value(v));
	}
	return NULL;
}

/* --- types that the pod takes --------------------------------------------------------
 */

#define TYPE_LABEL "node.kubernetes.io/instance-type"
#define TERMS                                                                            \
	"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."     \
	"nodeSelectorTerms"

static bool expression_takes(const json_t *expression, const char *type)
{
	const bool listed = texts_have(json_at(expression, "values"), type);
	const char *op = json_str_or(expression, "operator", "");

	if (!streq(json_str_at(expression, "key"), TYPE_LABEL))
		return true;
	return streq(op, "In")      ? listed
	       : streq(op, "NotIn") ? !listed
				    : !streq(op, "DoesNotExist");
}

static bool term_takes(const json_t *term, const char *type)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(term, "matchExpressions"), i, v)
		if (!expression_takes(v, type))
			return false;
	return true;
}

static bool pod_takes(const json_t *pod, const char *type)
{
	const json_t *selector = json_at(pod, "spec.nodeSelector");
	const char *named = json_string_value(json_object_get(selector, TYPE_LABEL));
	const json_t *terms = json_at(pod, TERMS);
	size_t i;
	json_t *v;

	if (named && !streq(named, type))
		return false;
	json_array_foreach(terms, i, v)
		if (term_takes(v, type))
			return true;
	return json_array_size(terms) == 0;
}

json_t *pending_selected(struct arena *a, const json_t *pod, const json_t *types)
{
	json_t *list = json_new_list(a), *v;
	size_t i;

	json_array_foreach(types, i, v)
		if (pod_takes(pod, json_string_value(v)))
			json_array_append(list, v);
	return list;
}
