/*
 * Keys from a service on the machine: the container endpoint of ECS and EKS
 * Pod Identity, and the instance metadata service, version 2 only.
 *
 * https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
 */
#include <string.h>

#include "core/aws/provider.h"
#include "core/json/tree.h"

enum { LOCAL_TIMEOUT_MS = 1000, LOCAL_TRIES = 4 };

/* Repeats what got no answer or a 5xx, at once: the peer is on this machine. */
static bool get(struct provider *p, const struct http_request *req,
		struct http_answer *ans)
{
	struct err ignored = {0};

	for (int i = 0; i < LOCAL_TRIES; i++) {
		*ans = (struct http_answer){.body = ""};
		if (p->net->send(p->net, p->arena, req, ans, &ignored) &&
		    ans->status < 500)
			return true;
	}
	return false;
}

static enum provided keys_of_document(struct provider *p, const char *name,
				      const struct http_answer *ans, struct aws_keys *ret)
{
	struct err ignored = {0};
	json_t *doc =
		json_parse(p->arena, (struct str){ans->body, ans->body_len}, &ignored);
	const char *code = json_str_or(doc, "Code", "Success");
	const char *id = json_str_at(doc, "AccessKeyId");
	const char *secret = json_str_at(doc, "SecretAccessKey");
	const char *token = json_str_at(doc, "Token");
	const char *expires = json_str_at(doc, "Expiration");
	int64_t ms;

	if (ans->status != 200 || !streq(code, "Success"))
		return provider_failed(p, name, "answered %d %s %s", ans->status,
				       json_str_or(doc, "Code", ""),
				       json_str_or(doc, "Message", ""));
	if (!id || !secret || !token || !expires || !time_parse_rfc3339(expires, &ms))
		return provider_failed(p, name, "the answer has no keys");
	*ret = (struct aws_keys){
		.access_key = secret_of(id),
		.secret_key = secret_of(secret),
		.session_token = secret_of(token),
		.expires_ms = ms,
	};
	return PROVIDED_KEYS;
}

/* ---------------------------------------------------------------- container */

enum provided provide_container(struct provider *p, struct aws_keys *ret)
{
	const char *relative =
		provider_setting(p, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *url = provider_setting(p, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
	const char *file = provider_setting(p, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *token = provider_setting(p, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
	struct http_request req = {
		.method = "GET", .timeout_ms = LOCAL_TIMEOUT_MS, .no_proxy = true};
	struct http_answer ans;

	if (!relative && !url) {
		buf_adds(p->tried, "container: not set; ");
		return PROVIDED_NONE;
	}
	if (relative)
		url = arena_printf(p->arena, "http://169.254.170.2%s%s",
				   *relative == '/' ? "" : "/", relative);
	if (strpbrk(url, "@\\#") || !http_is_private(url))
		return provider_broken(p, "Use an https address or a loopback address.",
				       "container", "%s is not an allowed address", url);
	if (file) {
		token = provider_file(p, file);
		if (!token)
			return provider_broken(p,
					       "Allow this user to read the file in "
					       "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE.",
					       "container", "%s cannot be read", file);
	}
	if (token && strpbrk(token, "\r\n"))
		return provider_failed(p, "container", "the token contains a line break");
	req.url = url;
	req.authorization = secret_of(token);
	req.no_proxy = str_starts(url, "http:");
	if (!get(p, &req, &ans))
		return provider_failed(p, "container", "no answer from %s", url);
	p->source = "the container credentials endpoint";
	return keys_of_document(p, "container", &ans, ret);
}

/* ---------------------------------------------------------------- instance */

static const char *metadata_base(struct provider *p)
{
	const char *base = provider_setting(p, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *mode = provider_setting(p, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
	size_t n;

	if (!base)
		return streq(mode, "IPv6") ? "http://[fd00:ec2::254]"
					   : "http://169.254.169.254";
	n = strlen(base);
	while (n > 0 && base[n - 1] == '/')
		n--;
	return arena_strndup(p->arena, base, n);
}

static const char *trimmed_body(struct provider *p, const struct http_answer *ans)
{
	struct str first = {ans->body, ans->body_len};

	return str_dup(p->arena, str_trim(str_cut(&first, '\n')));
}

static bool is_role_name(const char *z)
{
	return *z && z[strspn(z, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				 "0123456789+=,.@_-")] == 0;
}

static bool is_disabled(struct provider *p)
{
	return streq(provider_setting(p, "AWS_EC2_METADATA_DISABLED"), "true");
}

/* Makes *req one that asks the service; else the answer says why not. One try: most
 * machines have no such service. Version 1 is not asked. */
static bool metadata_open(struct provider *p, const char *base, struct http_request *req,
			  struct http_answer *ans)
{
	struct err e = {0};

	*req = (struct http_request){
		.method = "PUT", .timeout_ms = LOCAL_TIMEOUT_MS, .no_proxy = true};
	*ans = (struct http_answer){.body = ""};
	req->url = arena_printf(p->arena, "%s/latest/api/token", base);
	http_add_header(req, "x-aws-ec2-metadata-token-ttl-seconds", "21600");
	if (!p->net->send(p->net, p->arena, req, ans, &e) || ans->status != 200)
		return false;
	req->method = "GET";
	req->n_headers = 0;
	http_add_header(req, "x-aws-ec2-metadata-token", trimmed_body(p, ans));
	return true;
}

const char *aws_instance_region(struct transport *net,
				const char *(*lookup)(void *ctx, const char *name),
				void *lookup_ctx, struct arena *a)
{
	struct provider p = {
		.arena = a, .net = net, .lookup = lookup, .lookup_ctx = lookup_ctx};
	const char *base = metadata_base(&p);
	struct http_request req;
	struct http_answer ans;

	if (is_disabled(&p) || !metadata_open(&p, base, &req, &ans))
		return NULL;
	req.url = arena_printf(a, "%s/latest/meta-data/placement/region", base);
	return get(&p, &req, &ans) && ans.status == 200 ? trimmed_body(&p, &ans) : NULL;
}

enum provided provide_instance(struct provider *p, struct aws_keys *ret)
{
	static const char path[] = "/latest/meta-data/iam/security-credentials/";
	const char *base = metadata_base(p);
	struct http_request req;
	struct http_answer ans;
	const char *role;

	if (is_disabled(p)) {
		buf_adds(p->tried, "instance metadata: disabled; ");
		return PROVIDED_NONE;
	}
	if (!metadata_open(p, base, &req, &ans)) {
		buf_printf(p->tried, "instance metadata: no version 2 token (%s); ",
			   ans.status ? arena_printf(p->arena, "%d", ans.status)
				      : "no answer. In a container, the instance needs a "
					"hop limit of 2 (aws ec2 "
					"modify-instance-metadata-options "
					"--http-put-response-hop-limit 2)");
		return PROVIDED_NONE;
	}
	req.url = arena_printf(p->arena, "%s%s", base, path);
	if (!get(p, &req, &ans) || ans.status != 200)
		return provider_broken(p,
				       "Attach an instance profile (aws ec2 "
				       "associate-iam-instance-profile).",
				       "instance metadata",
				       "the instance has no role (%d)", ans.status);
	role = trimmed_body(p, &ans);
	if (!is_role_name(role))
		return provider_failed(p, "instance metadata", "the role has no name");
	req.url = arena_printf(p->arena, "%s%s%s", base, path, role);
	if (!get(p, &req, &ans))
		return provider_failed(p, "instance metadata", "no answer");
	p->source = arena_printf(p->arena, "the instance's role %s", role);
	return keys_of_document(p, "instance metadata", &ans, ret);
}
