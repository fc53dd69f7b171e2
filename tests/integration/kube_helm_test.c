/*
 * The product's Kubernetes and Helm clients over real TLS against the simulated
 * EKS as a server, with the real Helm binary.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/json/tree.h"
#include "core/kube/helm.h"
#include "core/kube/kube.h"

enum { WAIT_MS = 30000 };

struct site {
	struct arena a;
	pid_t server;
	char folder[64];
	char helm_path[4096];
	const char *endpoint; /* of the cloud, http */
	struct aws aws;
	struct kube kube;
	struct helm helm;
	struct kube_target target;
};

static const char *lookup(void *ctx, const char *name)
{
	const struct site *s = ctx;

	if (streq(name, "AWS_ENDPOINT_URL"))
		return s->endpoint;
	if (streq(name, "AWS_ACCESS_KEY_ID"))
		return "AKIAIOSFODNN7EXAMPLE";
	return streq(name, "AWS_SECRET_ACCESS_KEY")
		       ? "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
		       : NULL;
}

static void nap(void)
{
	const struct timespec t = {.tv_nsec = 20 * 1000 * 1000};

	nanosleep(&t, NULL);
}

/* The folder of the build, where the server and the models are. */
static const char *build_folder(struct site *s)
{
	char self[512] = "";

	cr_assert_gt(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
	for (int up = 0; up < 4; up++) {
		char *slash = strrchr(self, '/');
		const char *found = NULL;

		cr_assert_not_null(slash);
		*slash = '\0';
		found = arena_printf(&s->a, "%s/instantstart-cloud", self);
		if (access(found, X_OK) == 0)
			return arena_strdup(&s->a, self);
	}
	cr_assert(false, "instantstart-cloud is not built");
	return NULL;
}

/* Beside the program, or a folder up: the sanitized build has no models. */
static const char *models(struct site *s, const char *build)
{
	const char *path = arena_printf(&s->a, "%s/cloud-models.json", build);

	return access(path, R_OK) == 0
		       ? path
		       : arena_printf(&s->a, "%s/../cloud-models.json", build);
}

static void start_server(struct site *s)
{
	const char *build = build_folder(s);
	const char *program = arena_printf(&s->a, "%s/instantstart-cloud", build);
	const char *ready = NULL;

	str_copy(s->folder, sizeof(s->folder), "/tmp/kube-test-XXXXXX");
	cr_assert_not_null(mkdtemp(s->folder));
	ready = arena_printf(&s->a, "%s/ready", s->folder);
	s->server = fork();
	if (s->server == 0) {
		const int log = open(arena_printf(&s->a, "%s/log", s->folder),
				     O_WRONLY | O_CREAT, 0600);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(log, 1);
		dup2(log, 2);
		execl(program, program, "--models", models(s, build), "--port", "0",
		      "--tls-port", "0", "--speed", "200", "--ready-file", ready,
		      "--ca-file", arena_printf(&s->a, "%s/ca.pem", s->folder),
		      (char *)NULL);
		_exit(127);
	}
	for (int64_t left = WAIT_MS; left > 0; left -= 20) {
		json_t *tree = json_load_file(ready, 0, NULL);

		if (tree) {
			json_own(&s->a, tree);
			s->endpoint = arena_printf(&s->a, "http://127.0.0.1:%d",
						   (int)json_int_or(tree, "http", 0));
			return;
		}
		nap();
	}
	cr_assert(false, "the server did not come up: see %s", s->folder);
}

static json_t *aws(struct site *s, enum aws_op_id op, json_t *in)
{
	struct aws_result res = {0};

	json_own(&s->a, in);
	/* A role that is new cannot be assumed yet. */
	for (int64_t left = WAIT_MS; left > 0; left -= 200) {
		aws_call(&s->aws, op, in, &s->a, &res);
		if (res.ok)
			return res.out;
		nap();
	}
	cr_assert(false, "%s: %s %s", aws_op_name(aws_op(op)), res.code, res.message);
	return NULL;
}

static const char *subnet(struct site *s, const char *vpc, const char *cidr,
			  const char *zone)
{
	return json_str_at(aws(s, AWS_EC2_CreateSubnet,
			       json_pack("{s:s,s:s,s:s}", "VpcId", vpc, "CidrBlock", cidr,
					 "AvailabilityZone", zone)),
			   "Subnet.SubnetId");
}

static const char *from_base64(struct site *s, const char *text)
{
	char *out = arena_alloc(&s->a, strlen(text) + 4);
	int at = 0;
	unsigned bits = 0;
	unsigned n = 0;
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (; *text && *text != '='; text++) {
		bits = bits << 6 | (unsigned)(strchr(letters, *text) - letters);
		n += 6;
		if (n >= 8) {
			n -= 8;
			out[at++] = (char)(bits >> n & 0xff);
		}
	}
	return out;
}

static void make_cluster(struct site *s)
{
	json_t *cluster = NULL;
	const char *role = json_str_at(
		aws(s, AWS_IAM_CreateRole,
		    json_pack(
			    "{s:s,s:s}", "RoleName", "eks", "AssumeRolePolicyDocument",
			    "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\","
			    "\"Principal\":{\"Service\":\"eks.amazonaws.com\"},\"Action\":"
			    "\"sts:AssumeRole\"}]}")),
		"Role.Arn");
	const char *vpc = json_str_at(
		aws(s, AWS_EC2_CreateVpc, json_pack("{s:s}", "CidrBlock", "10.0.0.0/16")),
		"Vpc.VpcId");
	const char *a = subnet(s, vpc, "10.0.1.0/24", "us-west-2a");
	const char *b = subnet(s, vpc, "10.0.2.0/24", "us-west-2b");

	aws(s, AWS_IAM_AttachRolePolicy,
	    json_pack("{s:s,s:s}", "RoleName", "eks", "PolicyArn",
		      "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"));
	aws(s, AWS_EKS_CreateCluster,
	    json_pack("{s:s,s:s,s:s,s:{s:[s,s]},s:{s:s}}", "name", "demo", "roleArn",
		      role, "clientRequestToken", "kube-helm-test-demo",
		      "resourcesVpcConfig", "subnetIds", a, b, "accessConfig",
		      "authenticationMode", "API"));
	for (int64_t left = WAIT_MS; left > 0; left -= 20) {
		cluster = json_at(aws(s, AWS_EKS_DescribeCluster,
				      json_pack("{s:s}", "name", "demo")),
				  "cluster");
		if (streq(json_str_at(cluster, "status"), "ACTIVE"))
			break;
		nap();
	}
	cr_assert_str_eq(json_str_or(cluster, "status", ""), "ACTIVE");
	s->target = (struct kube_target){
		json_str_at(cluster, "endpoint"),
		from_base64(s, json_str_or(cluster, "certificateAuthority.data", "")),
		"demo"};
}

static void set_up(struct site *s)
{
	struct err e;
	struct transport *net = NULL;
	const char *helm =
		getenv("HELM") ? getenv("HELM") : "tests/node_modules/.tools/bin/helm";

	memset(s, 0, sizeof(*s));
	arena_init(&s->a, 0);
	start_server(s);
	net = net_curl_new(&s->a, NULL, &e);
	cr_assert_not_null(net, "%s", e.detail);
	s->aws = (struct aws){.net = net,
			      .clock = clock_system(),
			      .rng = rng_system(),
			      .region = "us-west-2",
			      .timeout_ms = 10000,
			      .lookup = lookup,
			      .lookup_ctx = s};
	s->aws.credentials =
		aws_credentials_new(&s->a, net, clock_system(), "us-west-2", lookup, s);
	kube_init(&s->kube, &s->a, net, &s->aws, 10000);
	make_cluster(s);
	s->helm = (struct helm){.binary = realpath(helm, s->helm_path),
				.tmp_dir = s->folder,
				.timeout_ms = 60000};
	cr_assert_not_null(s->helm.binary, "no %s: make deps", helm);
}

static void tear_down(struct site *s)
{
	static const char *const files[] = {"ready", "ca.pem", "log"};

	kill(s->server, SIGTERM);
	waitpid(s->server, NULL, 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(arena_printf(&s->a, "%s/%s", s->folder, files[i]));
	cr_expect_eq(rmdir(s->folder), 0, "something of Helm's is left in %s", s->folder);
	arena_free(&s->a);
}

static const char *chart(struct site *s, const char *name)
{
	char here[512];

	cr_assert_not_null(getcwd(here, sizeof(here)));
	return arena_printf(&s->a, "%s/tests/cloud/charts/%s", here, name);
}

static const struct kube_result *releases(struct site *s, const char *ns,
					  const char *name, struct kube_result *res)
{
	const struct kube_request r = {
		.verb = KUBE_LIST,
		.api = "v1",
		.plural = "secrets",
		.ns = ns,
		.label_selector = arena_printf(&s->a, "owner=helm,name=%s", name)};

	kube_list_all(&s->kube, &s->target, &r, &s->a, res);
	cr_assert(res->ok, "%s", res->message);
	return res;
}

Test(kube_helm, a_release_from_install_to_uninstall, .timeout = 120)
{
	struct site s;
	struct helm_result done;
	struct kube_result res;
	int64_t revision = 0;
	int64_t modified = 0;
	struct helm_request r = {
		.verb = HELM_UPGRADE_INSTALL, .release = "alb", .ns = "balancers"};

	set_up(&s);
	r.chart = chart(&s, "aws-load-balancer-controller");
	helm_call(&s.helm, &s.kube, &s.target, &r, &s.a, &done);
	cr_expect_not(done.ok, "clusterName is required");
	cr_expect_eq(done.errc, ERR_DEPENDENCY_FAILED);
	cr_expect(strstr(done.output, "without a valid clusterName"), "%s", done.output);
	r.values = json_packf(&s.a, "{s:s}", "clusterName", "demo");
	helm_call(&s.helm, &s.kube, &s.target, &r, &s.a, &done);
	cr_assert(done.ok, "%s", done.output);
	releases(&s, "balancers", "alb", &res);
	cr_expect_str_eq(helm_release_status(res.out, &revision, &modified), "deployed");
	cr_expect_eq(revision, 1);
	cr_expect_gt(modified, 1700000000);
	cr_expect_str_eq(helm_release_chart_version(res.out, &s.a), "1.13.4");
	helm_call(&s.helm, &s.kube, &s.target, &r, &s.a, &done);
	cr_assert(done.ok, "%s", done.output);
	r.verb = HELM_ROLLBACK;
	r.revision = 1;
	helm_call(&s.helm, &s.kube, &s.target, &r, &s.a, &done);
	cr_assert(done.ok, "%s", done.output);
	releases(&s, "balancers", "alb", &res);
	cr_expect_str_eq(helm_release_status(res.out, &revision, &modified), "deployed");
	cr_expect_eq(revision, 3);
	for (int i = 0; i < 2; i++) { /* the second finds nothing, which is as well */
		r.verb = HELM_UNINSTALL;
		helm_call(&s.helm, &s.kube, &s.target, &r, &s.a, &done);
		cr_expect(done.ok, "%s", done.output);
	}
	cr_expect_null(helm_release_status(releases(&s, "balancers", "alb", &res)->out,
					   &revision, &modified));
	tear_down(&s);
}

/*
 * The controller writes into an aggregated role of the chart: applied on the server's
 * side, every upgrade and rollback after that would conflict with it.
 */
Test(kube_helm, a_chart_with_an_aggregated_role_is_upgraded_and_rolled_back,
     .timeout = 120)
{
	struct site s;
	struct helm_result done;
	struct kube_result res;
	const struct kube_request role = {.verb = KUBE_GET,
					  .api = "rbac.authorization.k8s.io/v1",
					  .plural = "clusterroles",
					  .name = "kubeflow-training-admin"};
	struct helm_request r = {
		.verb = HELM_UPGRADE_INSTALL, .release = "hp", .ns = "kube-system"};

	set_up(&s);
	r.chart = chart(&s, "hyperpod-helm-chart");
	r.values = json_packf(&s.a, "{s:{s:b}}", "trainingOperators", "enabled", 1);
	for (int i = 0; i < 3; i++) {
		if (i == 2) {
			r.verb = HELM_ROLLBACK;
			r.revision = 1;
		}
		helm_call(&s.helm, &s.kube, &s.target, &r, &s.a, &done);
		cr_assert(done.ok, "%d: %s", i, done.output);
		for (int64_t left = WAIT_MS; left > 0; left -= 20) {
			kube_call(&s.kube, &s.target, &role, &s.a, &res);
			if (json_len_at(res.out, "rules") > 0)
				break;
			nap();
		}
		cr_expect_eq(json_len_at(res.out, "rules"), 1, "%d: the controller's", i);
	}
	tear_down(&s);
}

/* --- a followed log over TLS ----------------------------------------------------------
 */

struct follow {
	int lines;
};

static bool hear(void *ctx, const char *p, size_t n)
{
	struct follow *f = ctx;

	for (size_t i = 0; i < n; i++)
		f->lines += p[i] == '\n';
	return f->lines < 3; /* enough: we hang up */
}

static void put(struct site *s, const char *api, const char *plural, const char *ns,
		const char *name, json_t *body)
{
	const struct kube_request r = {.verb = KUBE_APPLY,
				       .api = api,
				       .plural = plural,
				       .ns = ns,
				       .name = name,
				       .body = json_own(&s->a, body)};
	struct kube_result res;

	cr_assert_not_null(body);
	kube_call(&s->kube, &s->target, &r, &s->a, &res);
	cr_assert(res.ok, "%s: %s", name, res.message);
}

Test(kube_helm, a_followed_log_streams, .timeout = 60)
{
	struct kube_request r = {.verb = KUBE_GET,
				 .api = "v1",
				 .plural = "pods",
				 .ns = "default",
				 .name = "p"};
	struct follow f = {0};
	struct http_request req;
	struct http_answer ans;
	struct kube_result res;
	struct secret token;
	struct site s;
	struct err e;

	set_up(&s);
	put(&s, "v1", "nodes", NULL, "n1",
	    json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind", "Node", "metadata",
		      "name", "n1"));
	r = (struct kube_request){.verb = KUBE_MERGE_PATCH,
				  .api = "v1",
				  .plural = "nodes",
				  .name = "n1",
				  .subresource = "status"};
	r.body = json_packf(&s.a, "{s:{s:[{s:s,s:s}]}}", "status", "conditions", "type",
			    "Ready", "status", "True");
	kube_call(&s.kube, &s.target, &r, &s.a, &res);
	cr_assert(res.ok, "%s", res.message);
	put(&s, "v1", "pods", "default", "p",
	    json_pack("{s:s,s:s,s:{s:s},s:{s:[{s:s,s:s}]}}", "apiVersion", "v1", "kind",
		      "Pod", "metadata", "name", "p", "spec", "containers", "name", "c",
		      "image", "i:1"));
	r = (struct kube_request){.verb = KUBE_GET,
				  .api = "v1",
				  .plural = "pods",
				  .ns = "default",
				  .name = "p"};
	for (int64_t left = WAIT_MS; left > 0; left -= 20) {
		kube_call(&s.kube, &s.target, &r, &s.a, &res);
		if (streq(json_str_at(res.out, "status.phase"), "Running"))
			break;
		nap();
	}
	r = (struct kube_request){.verb = KUBE_LOG,
				  .ns = "default",
				  .name = "p",
				  .follow = true,
				  .watch_seconds = 20};
	cr_assert(kube_token(&s.kube, &s.target, &s.a, &token, &e), "%s", e.detail);
	cr_assert(kube_build(&s.target, &r, token, &s.a, &req, &e), "%s", e.detail);
	req.on_data = hear;
	req.on_data_ctx = &f;
	s.aws.net->send(s.aws.net, &s.a, &req, &ans, &e);
	cr_expect_eq(f.lines, 3, "%s", e.detail);
	tear_down(&s);
}
