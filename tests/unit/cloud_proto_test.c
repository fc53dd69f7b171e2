/* What typed clients send as protobuf, as the simulated API server reads it. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/json/tree.h"
#include "tests/cloud/kube/request.h"

/* A field of wire type 2: text or message. */
static struct str field(struct arena *a, int number, struct str value)
{
	struct buf b;

	cr_assert(value.n < 128);
	buf_init(&b, a, 256);
	buf_addc(&b, (char)(number << 3 | 2));
	buf_addc(&b, (char)value.n);
	buf_add_str(&b, value);
	return buf_str(&b);
}

static struct str join(struct arena *a, struct str x, struct str y)
{
	struct buf b;

	buf_init(&b, a, 512);
	buf_add_str(&b, x);
	buf_add_str(&b, y);
	return buf_str(&b);
}

#define F(number, text) field(a, (number), str_of(text))

/* "k8s\0", then Unknown: 1 typeMeta {1 apiVersion, 2 kind}, 2 raw.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding */
static const char *decoded(struct arena *a, const char *kind, struct str raw)
{
	const struct str magic = {"k8s", 4};
	const struct str type =
		field(a, 1, join(a, F(1, "rbac.authorization.k8s.io/v1"), F(2, kind)));
	const json_t *tree =
		ks_proto_decode(a, join(a, magic, join(a, type, field(a, 2, raw))));

	return tree ? json_text(a, tree) : "none";
}

Test(cloud_proto, roles_and_bindings)
{
	struct arena arena, *a = &arena;
	struct str meta, rule, subject, ref;

	arena_init(a, 0);
	meta = field(a, 1, join(a, F(1, "viewer"), F(3, "default")));
	rule = join(a, join(a, F(1, "get"), F(1, "list")),
		    join(a, F(2, ""), F(3, "pods")));
	cr_expect_str_eq(decoded(a, "Role", join(a, meta, field(a, 2, rule))),
			 "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\","
			 "\"kind\":\"Role\",\"metadata\":{\"name\":\"viewer\","
			 "\"namespace\":\"default\"},\"rules\":[{\"apiGroups\":[\"\"],"
			 "\"resources\":[\"pods\"],\"verbs\":[\"get\",\"list\"]}]}");
	subject = join(a, F(1, "User"), F(3, "ann"));
	ref = join(a, F(1, "rbac.authorization.k8s.io"),
		   join(a, F(2, "Role"), F(3, "viewer")));
	cr_expect_str_eq(
		decoded(a, "RoleBinding",
			join(a, meta, join(a, field(a, 2, subject), field(a, 3, ref)))),
		"{\"apiVersion\":\"rbac.authorization.k8s.io/v1\","
		"\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"viewer\","
		"\"namespace\":\"default\"},\"roleRef\":{\"apiGroup\":"
		"\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"viewer\"},"
		"\"subjects\":[{\"kind\":\"User\",\"name\":\"ann\"}]}");
	cr_expect_str_eq(decoded(a, "Nothing", meta), "none");
	arena_free(a);
}
