#include <string.h>

#include "core/aws/account.h"
#include "core/aws/service.h"
#include "core/aws/sigv4.h"
#include "core/base/base64.h"
#include "core/kube/kube.h"

/*
 * The server takes a token for 15 minutes after its X-Amz-Date, whatever its
 * X-Amz-Expires says, and none above 4096 bytes.
 * https://github.com/kubernetes-sigs/aws-iam-authenticator pkg/token
 */
enum {
	TOKEN_LIFE_MS = 15 * 60 * 1000,
	TOKEN_MARGIN_MS = 60 * 1000,
	TOKEN_MAX = 4096,
	TOKEN_URL_EXPIRES_S = 60,
	CLUSTER_MAX = 128,
	CACHE_SIZE = 64,
};

struct entry {
	char cluster[CLUSTER_MAX];
	char token[TOKEN_MAX + 1];
	int64_t until_ms; /* wall */
};

/* Fixed slots: a process that lives for years mints tokens all the time. */
struct kube_token_cache {
	struct entry *entry[CACHE_SIZE];
	struct arena *arena;
};

void kube_init(struct kube *k, struct arena *a, struct transport *net, struct aws *aws,
	       int64_t timeout_ms)
{
	*k = (struct kube){.net = net, .aws = aws, .timeout_ms = timeout_ms};
	k->tokens = arena_new(a, struct kube_token_cache);
	k->tokens->arena = a;
}

static struct entry *find(struct kube_token_cache *c, const char *cluster)
{
	for (size_t i = 0; i < CACHE_SIZE; i++) {
		if (c->entry[i] && streq(c->entry[i]->cluster, cluster))
			return c->entry[i];
	}
	return NULL;
}

/* An empty slot, or the one that ends first. */
static struct entry *claim(struct kube_token_cache *c)
{
	struct entry *oldest = c->entry[0];

	for (size_t i = 0; i < CACHE_SIZE; i++) {
		if (!c->entry[i]) {
			c->entry[i] = arena_new(c->arena, struct entry);
			return c->entry[i];
		}
		if (c->entry[i]->until_ms < oldest->until_ms)
			oldest = c->entry[i];
	}
	return oldest;
}

static const char *sts_url(const struct aws *aws, struct arena *a)
{
	/* The verifier takes the plain STS hosts of the cluster's partition, no others.
	 */
	return arena_printf(a, "https://%s/?Action=GetCallerIdentity&Version=2011-06-15",
			    aws_host(AWS_SERVICE_STS, aws->region, a));
}

static bool mint(struct kube *k, const struct kube_target *t, int64_t now_ms,
		 struct arena *a, const char **ret, int64_t *ret_until_ms, struct err *e)
{
	const struct http_request req = {.method = "GET",
					 .url = sts_url(k->aws, a),
					 .header = {{"x-k8s-aws-id", t->cluster_name}},
					 .n_headers = 1};
	struct aws_keys keys;
	const struct sigv4 signer = {.keys = &keys,
				     .region = k->aws->region,
				     .service = "sts",
				     .wall_ms = now_ms};
	const char *url;

	if (!aws_keys(k->aws, k->aws->clock->mono_ms(k->aws->clock) + k->aws->timeout_ms,
		      a, &keys, e))
		return false;
	url = sigv4_presign(&signer, &req, TOKEN_URL_EXPIRES_S, a);
	*ret_until_ms = now_ms + TOKEN_LIFE_MS - TOKEN_MARGIN_MS;
	if (keys.expires_ms > 0 && keys.expires_ms - TOKEN_MARGIN_MS < *ret_until_ms)
		*ret_until_ms = keys.expires_ms - TOKEN_MARGIN_MS;
	*ret = arena_printf(a, "k8s-aws-v1.%s", base64url_encode(a, url, strlen(url)));
	if (strlen(*ret) > TOKEN_MAX)
		return err_set(
			e, ERR_CREDENTIALS,
			"the session token is too long for an EKS token: %zu bytes, "
			"%d allowed",
			strlen(*ret), TOKEN_MAX);
	return true;
}

bool kube_token(struct kube *k, const struct kube_target *t, struct arena *a,
		struct secret *ret, struct err *e)
{
	const int64_t now_ms = k->aws->clock->wall_ms(k->aws->clock) + k->aws->skew_ms;
	struct entry *kept = find(k->tokens, t->cluster_name);
	const char *token = NULL;
	int64_t until_ms = 0;

	/* A clock that was set back must not stretch a token's life. */
	if (kept && now_ms < kept->until_ms &&
	    kept->until_ms - now_ms <= TOKEN_LIFE_MS - TOKEN_MARGIN_MS) {
		*ret = secret_of(arena_strdup(a, kept->token));
		return true;
	}
	if (strlen(t->cluster_name) >= CLUSTER_MAX)
		return err_set(e, ERR_INVALID_INPUT, "the cluster's name is too long");
	if (!mint(k, t, now_ms, a, &token, &until_ms, e))
		return false;
	if (!kept)
		kept = claim(k->tokens);
	str_copy(kept->cluster, sizeof(kept->cluster), t->cluster_name);
	str_copy(kept->token, sizeof(kept->token), token);
	kept->until_ms = until_ms;
	*ret = secret_of(token);
	return true;
}

void kube_token_drop(struct kube *k, const struct kube_target *t)
{
	struct entry *kept = find(k->tokens, t->cluster_name);

	if (kept)
		kept->until_ms = 0;
}
