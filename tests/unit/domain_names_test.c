/*
 * Every name that is derived from what callers choose, over random legal inputs: the
 * service takes it, and no two inputs have the same. What a service takes is said here
 * once more, by its documentation, and not asked of the product.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <jansson.h>
#include <regex.h>
#include <string.h>

#include "core/domain/step/names.h"
#include "core/domain/storage/storage.h"
#include "core/json/tree.h"

enum { INPUTS = 10000, ARENA_MAX = 64 << 20 };

static struct {
	uint64_t state;
} dice = {UINT64_C(0x9e3779b97f4a7c15)};

static size_t roll(size_t n)
{
	dice.state ^= dice.state << 13;
	dice.state ^= dice.state >> 7;
	dice.state ^= dice.state << 17;
	return (size_t)(dice.state % n);
}

/* --- inputs ------------------------------------------------------------------------ */

struct input {
	char cluster[101], ns[64], name[41];
	const char *region;
};

static const char *const regions[] = {"us-west-2", "ap-southeast-2", "us-gov-west-1",
				      "cn-northwest-1", "eusc-de-east-1"};

/* Few characters: what collides does so often. */
static void text(char *ret, size_t max, const char *inside, const char *ends)
{
	const size_t n = 1 + (roll(4) ? roll(max < 12 ? max : 12) : roll(max));

	for (size_t i = 0; i < n; i++) {
		const char *from = i == 0 || i + 1 == n ? ends : inside;

		ret[i] = from[roll(strlen(from))];
	}
	ret[n] = '\0';
}

static void make_input(struct input *in)
{
	if (roll(2))
		text(in->cluster, 30, "ab-", "ab"); /* made here */
	else
		text(in->cluster, 100, "aAbB_-7", "aAbB7"); /* imported */
	text(in->ns, 63, "ab-", "ab");
	text(in->name, 40, "ab-", "ab");
	in->region = regions[roll(sizeof(regions) / sizeof(regions[0]))];
}

/* --- names ------------------------------------------------------------------------- */

struct derived {
	const char *what;
	const char *legal; /* of the service's documentation */
	size_t max;
	const char *(*name)(const struct step_ctx *c);
	bool by_cluster, by_namespace, by_name, by_region; /* unique among these */
	bool folds; /* the service takes capitals for small letters */
};

#define ROLE_NAME(id)                                                                    \
	static const char *role_##id(const struct step_ctx *c)                           \
	{                                                                                \
		return name_role(c, id);                                                 \
	}
ROLE_NAME(ROLE_NODES)
ROLE_NAME(ROLE_S3_CSI)
ROLE_NAME(ROLE_FSX_CSI)
ROLE_NAME(ROLE_LOAD_BALANCERS)
ROLE_NAME(ROLE_AUTOSCALING)
ROLE_NAME(ROLE_TRAINING_OPERATOR)
ROLE_NAME(ROLE_INFERENCE)
ROLE_NAME(ROLE_INFERENCE_SCALE)
ROLE_NAME(ROLE_INFERENCE_LOAD)

#define IS_ROLE(id)                                                                      \
	{                                                                                \
#id, "^[a-zA-Z0-9_+=,.@-]+$", 64, role_##id,                             \
			.by_cluster = true, .by_region = true, .folds = true             \
	}
#define LABEL "[a-z0-9]([a-z0-9-]*[a-z0-9])?"

static const struct derived table[] = {
	IS_ROLE(ROLE_NODES),
	IS_ROLE(ROLE_S3_CSI),
	IS_ROLE(ROLE_FSX_CSI),
	IS_ROLE(ROLE_LOAD_BALANCERS),
	IS_ROLE(ROLE_AUTOSCALING),
	IS_ROLE(ROLE_TRAINING_OPERATOR),
	IS_ROLE(ROLE_INFERENCE),
	IS_ROLE(ROLE_INFERENCE_SCALE),
	IS_ROLE(ROLE_INFERENCE_LOAD),
	{"stack", "^[a-zA-Z][a-zA-Z0-9-]*$", 128, name_stack, .by_cluster = true},
	{"HyperPod cluster", "^[a-zA-Z0-9](-*[a-zA-Z0-9])*$", 63, name_hyperpod,
	 .by_cluster = true},
	{"label", "^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$", 63, name_label,
	 .by_cluster = true},
	{"bucket for certificates", "^[a-z0-9][a-z0-9-]*[a-z0-9]$", 63, name_tls_bucket,
	 .by_cluster = true, .by_region = true},
	{"lifecycle prefix", "^clusters/[A-Za-z0-9_-]+/lifecycle$", 900,
	 name_lifecycle_prefix, .by_cluster = true},
	{"volume", "^" LABEL "$", 253, storage_volume, .by_cluster = true,
	 .by_namespace = true, .by_name = true},
	{"policy of a storage", "^[a-zA-Z0-9_+=,.@-]+$", 128, storage_policy,
	 .by_namespace = true, .by_name = true},
	{"job", "^" LABEL "$", 63, storage_probe, .by_name = true},
};

enum { NAMES = sizeof(table) / sizeof(table[0]), PURPOSES = 9 };

static const char *scope(struct arena *a, const struct derived *d, const struct input *in)
{
	return arena_printf(a, "%s|%s|%s|%s", d->by_cluster ? in->cluster : "",
			    d->by_namespace ? in->ns : "", d->by_name ? in->name : "",
			    d->by_region ? in->region : "");
}

static const char *folded(struct arena *a, const char *name)
{
	char *z = arena_strdup(a, name);

	for (char *p = z; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return z;
}

/* --- one input --------------------------------------------------------------------- */

static void check(struct arena *a, const struct input *in, const regex_t *legal,
		  json_t *const *seen)
{
	const struct where where = {.account = "123456789012",
				    .installation = "here",
				    .region = in->region,
				    .partition = "aws"};
	const struct config cfg = {0};
	const struct step_ctx c = {
		.arena = a,
		.cfg = &cfg,
		.where = &where,
		.target = in->cluster,
		.input = json_packf(a, "{s:s, s:s}", "namespace", in->ns, "name",
				    in->name),
		.data = json_new_object(a),
	};

	for (size_t i = 0; i < NAMES; i++) {
		const struct derived *d = &table[i];
		const char *name = d->name(&c), *mine = scope(a, d, in);
		const char *key = d->folds ? folded(a, name) : name;
		/* Roles of all purposes share one name space. */
		json_t *names = seen[i < PURPOSES ? 0 : i];
		const char *of =
			arena_printf(a, "%s %s", i < PURPOSES ? d->what : "", mine);
		const char *had = json_string_value(json_object_get(names, key));

		cr_assert(strlen(name) <= d->max && !regexec(&legal[i], name, 0, NULL, 0),
			  "%s of (%s) is no legal name: %s", d->what, mine, name);
		cr_assert(!had || streq(had, of), "%s: (%s) and (%s) are both %s",
			  d->what, had, of, name);
		json_object_set_new(names, key, json_string(of));
	}
}

Test(domain_names, are_legal_and_unique_over_ten_thousand_legal_inputs)
{
	struct arena arena, *a = &arena;
	regex_t legal[NAMES];
	json_t *seen[NAMES];
	struct input in;

	arena_init(a, ARENA_MAX);
	for (size_t i = 0; i < NAMES; i++) {
		cr_assert_not(regcomp(&legal[i], table[i].legal, REG_EXTENDED));
		seen[i] = json_object();
	}
	for (size_t i = 0; i < INPUTS; i++) {
		make_input(&in);
		check(a, &in, legal, seen);
		arena_reset(a);
	}
	for (size_t i = 0; i < NAMES; i++) {
		regfree(&legal[i]);
		json_decref(seen[i]);
	}
	arena_free(a);
}

/* --- what an earlier version made --------------------------------------------------- */

struct earlier {
	const char *cluster, *input;
	const char *role, *volume, *policy, *stack;
};

/* Names of installations that exist: legal and unambiguous, or recorded. */
static const struct earlier earlier[] = {
	{"demo", "{}", "is-demo-s3-csi-us-west-2", "is-demo-default-data",
	 "storage-default-data", "instantstart-demo"},
	{"ci-1234567890", "{\"volume\":\"is-ci-1234567890-default-data\"}",
	 "is-ci-1234567890-s3-csi-us-west-2", "is-ci-1234567890-default-data",
	 "storage-default-data", "instantstart-ci-1234567890"},
	{"demo", "{\"namespace\":\"a-b\",\"name\":\"c\",\"volume\":\"is-demo-a-b-c\"}",
	 "is-demo-s3-csi-us-west-2", "is-demo-a-b-c", "storage-a-b-c",
	 "instantstart-demo"},
	{"Research", "{\"roles\":[\"is-Research-s3-csi-us-west-2\"]}",
	 "is-Research-s3-csi-us-west-2", NULL, NULL, NULL},
};

Test(domain_names, of_earlier_installations_stay)
{
	struct arena arena, *a = &arena;
	const struct where where = {.account = "123456789012",
				    .installation = "here",
				    .region = "us-west-2",
				    .partition = "aws"};
	const struct config cfg = {0};
	struct err e;

	arena_init(a, ARENA_MAX);
	for (size_t i = 0; i < sizeof(earlier) / sizeof(earlier[0]); i++) {
		const struct earlier *k = &earlier[i];
		const struct step_ctx c = {
			.arena = a,
			.cfg = &cfg,
			.where = &where,
			.target = k->cluster,
			.input = json_parse(a, str_of(k->input), &e),
			.data = json_new_object(a),
		};

		cr_assert_str_eq(name_role(&c, ROLE_S3_CSI), k->role);
		if (k->volume)
			cr_assert_str_eq(storage_volume(&c), k->volume);
		if (k->policy)
			cr_assert_str_eq(storage_policy(&c), k->policy);
		if (k->stack)
			cr_assert_str_eq(name_stack(&c), k->stack);
	}
	arena_free(a);
}
