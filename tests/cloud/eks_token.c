/*
 * Who presented an EKS bearer token: "k8s-aws-v1." and a presigned
 * GetCallerIdentity URL in base64url, as aws-iam-authenticator verifies it.
 * https://github.com/kubernetes-sigs/aws-iam-authenticator
 */
#include <openssl/evp.h>
#include <string.h>

#include "tests/cloud/core.h"

enum { TOKEN_MAX = 4096, TOKEN_LIFE_MS = 15 * 60 * 1000 };

static const char *decode_url(struct arena *a, const char *token)
{
	static const char prefix[] = "k8s-aws-v1.";

	if (strlen(token) > TOKEN_MAX || !str_starts(token, prefix))
		return NULL;
	token += strlen(prefix);
	size_t n = strlen(token), padded = (n + 3) / 4 * 4;
	char *b64 = arena_alloc(a, padded + 1);
	unsigned char *out = arena_alloc(a, padded + 1);

	for (size_t i = 0; i < padded; i++) {
		char ch = i < n ? token[i] : '=';

		b64[i] = ch == '-' ? '+' : ch == '_' ? '/' : ch;
	}
	int got = EVP_DecodeBlock(out, (unsigned char *)b64, (int)padded);

	if (got < 0)
		return NULL;
	out[(size_t)got - (padded - n)] = '\0';
	return (const char *)out;
}

static bool url_is_plain(const struct wire *w)
{
	static const char *const allowed[] = {
		"Action",
		"Version",
		"X-Amz-Algorithm",
		"X-Amz-Credential",
		"X-Amz-Date",
		"X-Amz-Expires",
		"X-Amz-Security-Token",
		"X-Amz-Signature",
		"X-Amz-SignedHeaders",
	};
	struct pair *action = pair_find(&w->query_pairs, "Action");
	struct pair *headers = pair_find(&w->query_pairs, "X-Amz-SignedHeaders");

	for (size_t i = 0; i < w->query_pairs.n; i++) {
		bool known = false;

		for (size_t k = 0; k < sizeof(allowed) / sizeof(*allowed); k++)
			known |= strcmp(allowed[k], w->query_pairs.v[i].name) == 0;
		if (!known)
			return false;
	}
	return strcmp(w->path, "/") == 0 && action &&
	       streq(action->value, "GetCallerIdentity") && headers &&
	       strstr(headers->value, "x-k8s-aws-id");
}

/*
 * A token lives for 15 minutes whatever X-Amz-Expires says, and STS looks at
 * the expiry only of the URL; so the expiry is judged here, from the date.
 */
static bool verify(struct cloud *c, struct arena *a, const char *url, const char *cluster,
		   struct caller *ret)
{
	size_t host_at = strlen("https://");
	struct http_header h = {"x-k8s-aws-id", cluster};
	struct cloud_request req = {.method = "GET", .header = &h, .n_headers = 1};
	struct refused r = {REFUSED_NOT, NULL};
	struct wire w;

	if (!str_starts(url, "https://") && !str_starts(url, "http://127.0.0.1") &&
	    !str_starts(url, "http://localhost"))
		return false;
	host_at = (size_t)(strstr(url, "://") - url) + 3;
	size_t n = strcspn(url + host_at, "/?");

	req.host = arena_strndup(a, url + host_at, n);
	req.target = url + host_at + n;
	if (*req.target != '/')
		return false;
	wire_read(&w, a, &req);
	if (!url_is_plain(&w))
		return false;
	return sigv4_verify_for(c, a, &w, TOKEN_LIFE_MS, ret, &r);
}

bool cloud_verify_eks_token_of(struct cloud *c, const char *cluster_name,
			       const char *token, const char **ret_arn)
{
	struct arena a;
	struct caller caller = {NULL, NULL};

	arena_init(&a, 0);
	const char *url = decode_url(&a, token);
	bool ok = url && verify(c, &a, url, cluster_name, &caller);

	if (ok)
		*ret_arn = caller.arn; /* of the options, or of a session: both stay */
	arena_free(&a);
	return ok;
}

bool cloud_verify_eks_token(struct cloud *c, const char *token, const char **ret_arn)
{
	const char *name;
	json_t *cluster;

	json_object_foreach(cloud_table(c, "eks.cluster"), name, cluster)
		if (cloud_verify_eks_token_of(c, json_str_or(cluster, "name", name),
					      token, ret_arn))
			return true;
	return false;
}
