/* Helm as a child process: what it is given, what is left, how it ends. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json/tree.h"
#include "core/kube/helm.h"
#include "core/kube/manifest.h"

static const char *env(void *ctx, const char *name)
{
	(void)ctx;
	return str_starts(name, "AWS_ACCESS") || str_starts(name, "AWS_SECRET")
		       ? "KEYKEYKEY"
		       : NULL;
}

struct bench {
	struct arena a;
	struct aws aws;
	struct kube kube;
	char folder[64]; /* parent of the private folders; holds the stand-in too */
	const char *binary;
	struct helm_result res;
};

static void bench_init(struct bench *b, const char *script)
{
	FILE *f = NULL;

	arena_init(&b->a, 0);
	str_copy(b->folder, sizeof(b->folder), "/tmp/helm-test-XXXXXX");
	cr_assert_not_null(mkdtemp(b->folder));
	b->binary = arena_printf(&b->a, "%s/standin", b->folder);
	f = fopen(b->binary, "w");
	cr_assert_not_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", script);
	fclose(f);
	chmod(b->binary, 0755);
	b->aws = (struct aws){
		.clock = clock_system(), .region = "us-west-2", .lookup = env};
	b->aws.credentials =
		aws_credentials_new(&b->a, NULL, clock_system(), "us-west-2", env, NULL);
	kube_init(&b->kube, &b->a, NULL, &b->aws, 1000);
}

static void bench_run(struct bench *b, const struct helm_request *r, int64_t timeout_ms)
{
	struct helm h = {
		.binary = b->binary, .tmp_dir = b->folder, .timeout_ms = timeout_ms};
	const struct kube_target t = {"https://k", "CA", "demo"};

	helm_call(&h, &b->kube, &t, r, &b->a, &b->res);
}

static void bench_end(struct bench *b)
{
	DIR *d = opendir(b->folder);
	size_t n = 0;

	for (const struct dirent *e = readdir(d); e; e = readdir(d))
		n += e->d_name[0] != '.';
	closedir(d);
	cr_expect_eq(n, 1, "the private folder is still there");
	unlink(b->binary);
	rmdir(b->folder);
	arena_free(&b->a);
}

Test(kube_helm_run, what_the_child_is_given)
{
	static const char script[] =
		"echo \"args: $*\" >&2; env | cut -d= -f1 | sort | tr '\\n' ' '; echo;"
		"stat -Lc '%a' . \"$KUBECONFIG\" values.json | tr '\\n' ' '; echo;"
		"cat values.json; echo; grep -c hidden values.json; grep -c k8s-aws-v1 \"$KUBECONFIG\"; mkdir -p x/y; >x/y/z;"
		"readlink \"$KUBECONFIG\"; ls /proc/self/fd | wc -l; cat; exit 0";
	struct bench b;
	json_t *values = json_pack("{s:s}", "password", "hidden");
	const struct helm_request r = {.verb = HELM_UPGRADE_INSTALL,
				       .release = "rel",
				       .ns = "space",
				       .chart = "/charts/c",
				       .values = values};

	setenv("AWS_SECRET_ACCESS_KEY", "leak", 1);
	setenv("HTTPS_PROXY", "http://proxy", 1);
	bench_init(&b, script);
	bench_run(&b, &r, 60000);
	cr_expect(b.res.ok, "%s", b.res.output);
	cr_expect(strstr(b.res.output,
			 "args: upgrade --install --create-namespace --history-max "
			 "5 --server-side false --values /tmp/helm-test-"),
		  "%s", b.res.output);
	cr_expect(strstr(b.res.output,
			 "--namespace space --timeout 50s --color never -- rel "
			 "/charts/c\n"),
		  "%s", b.res.output);
	cr_expect_null(strstr(b.res.output, "AWS_"), "%s", b.res.output);
	cr_expect_not_null(strstr(b.res.output, "HTTPS_PROXY"), "%s", b.res.output);
	cr_expect_not_null(strstr(b.res.output, "700 600 600"), "%s", b.res.output);
	/* The token is on no disk. */
	cr_expect_not_null(strstr(b.res.output, "memfd:kubeconfig"), "%s", b.res.output);
	/* The child is given the values as they are; of what it says, secrets are hidden.
	 */
	cr_expect_not_null(strstr(b.res.output, "{\"password\":\"(secret)\"}\n1\n1\n"),
			   "%s", b.res.output);
	json_decref(values);
	bench_end(&b);
}

/* Standard output alone is read, and nothing of it is kept but names. */
Test(kube_helm_run, a_template_is_a_list_of_objects)
{
	static const char script[] =
		"echo \"args: $*\" >&2; printf -- '---\\napiVersion: v1\\nkind: "
		"Secret\\nmetadata:\\n  name: s\\n  namespace: n\\nstringData:\\n  "
		"key: hidden\\n---\\n# only a comment\\n---\\nkind: NetworkPolicy\\n"
		"apiVersion: networking.k8s.io/v1\\nmetadata: {name: flow}\\n---\\n"
		"apiVersion: v1\\nkind: Namespace\\nmetadata:\\n    name: space\\n"
		"    namespace: x\\n'";
	struct bench b;
	const struct helm_request r = {.verb = HELM_TEMPLATE,
				       .release = "rel",
				       .ns = "space",
				       .chart = "/charts/c",
				       .kube_version = "1.34"};

	bench_init(&b, script);
	bench_run(&b, &r, 60000);
	cr_expect(b.res.ok && !helm_verb_mutates(r.verb), "%s", b.res.output);
	cr_expect(strstr(b.res.output, "args: template --no-hooks --kube-version 1.34"),
		  "%s", b.res.output);
	cr_expect_str_eq(json_text(&b.a, b.res.out),
			 "{\"objects\":[{\"api\":\"v1\",\"kind\":\"Secret\",\"name\":"
			 "\"s\",\"namespace\":\"n\",\"plural\":\"secrets\"},{\"api\":"
			 "\"v1\",\"kind\":\"Namespace\",\"name\":\"space\",\"plural\":"
			 "\"namespaces\"}],\"unread\":1}");
	bench_end(&b);
	bench_init(&b, "yes 'apiVersion: v1'");
	bench_run(&b, &r, 60000);
	cr_expect(!b.res.ok && !b.res.ambiguous &&
			  strstr(b.res.output, "more than 8 MiB"),
		  "%s", b.res.output);
	bench_end(&b);
}

Test(kube_helm_run, plurals_follow_the_rule)
{
	static const char *const rows[][2] = {
		{"NetworkPolicy", "networkpolicies"},
		{"IngressClass", "ingressclasses"},
		{"Ingress", "ingresses"},
		{"Gateway", "gateways"},
		{"Endpoints", "endpoints"},
		{"ConfigMap", "configmaps"},
	};
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_str_eq(manifest_plural(rows[i][0], &a), rows[i][1]);
	arena_free(&a);
}

Test(kube_helm_run, how_it_ends)
{
	static const struct {
		const char *script;
		int64_t timeout_ms;
		bool ok, ambiguous;
		int exit_code;
		enum errc errc;
		const char *says;
	} rows[] = {
		{"exit 0", 20000, true, false, 0, ERR_NONE, ""},
		{"echo Error: boom >&2; exit 1", 20000, false, false, 1,
		 ERR_DEPENDENCY_FAILED, "Error: boom"},
		{"echo 'another operation (install/upgrade/rollback) is in progress' >&2; exit 1",
		 20000, false, false, 1, ERR_CLOUD_CONFLICT, "another"},
		{"echo 'serviceaccounts \"a\" is forbidden: unable to create new content in "
		 "namespace n because it is being terminated' >&2; exit 1",
		 20000, false, false, 1, ERR_CLOUD_CONFLICT, "terminated"},
		{"echo 'secrets is forbidden: User \"u\" cannot list' >&2; exit 1", 20000,
		 false, false, 1, ERR_CLOUD_DENIED, "forbidden"},
		{"echo 'x: context deadline exceeded' >&2; exit 1", 20000, false, true, 1,
		 ERR_AMBIGUOUS, "context"},
		/* As servers word it: one field, or several. */
		{"echo 'Apply failed with 1 conflict: conflict with \"a\": .x' >&2; exit 1",
		 20000, false, false, 1, ERR_FOREIGN_OBJECT, "conflict"},
		{"echo 'Apply failed with 2 conflicts: conflicts with \"a\":' >&2; exit 1",
		 20000, false, false, 1, ERR_FOREIGN_OBJECT, "conflicts"},
		{"echo 'failed calling webhook \"w\": context deadline exceeded' >&2; exit 1",
		 20000, false, false, 1, ERR_WEBHOOK_UNSERVED, "webhook"},
		{"exit 127", 20000, false, false, 127, ERR_CONFIG, "INSTANTSTART_HELM"},
		{"kill -9 $$", 20000, false, true, -1, ERR_AMBIGUOUS, ""},
		{"echo begun; sleep 30 & exec sleep 30", 400, false, true, -1,
		 ERR_AMBIGUOUS, "begun"},
		{"i=0; while [ $i -lt 3000 ]; do echo line$i; i=$((i+1)); done; exit 3",
		 20000, false, false, 3, ERR_DEPENDENCY_FAILED, "line2999"},
		/* A child that leaves its output to a longer-lived one is not waited for.
		 */
		{"sleep 30 & exit 0", 20000, true, false, 0, ERR_NONE, ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct helm_request r = {
			.verb = HELM_UNINSTALL, .release = "rel", .ns = "space"};
		const int64_t began = clock_system()->mono_ms(clock_system());
		struct bench b;

		bench_init(&b, rows[i].script);
		bench_run(&b, &r, rows[i].timeout_ms);
		cr_expect_eq(b.res.ok, rows[i].ok, "row %zu: %s", i, b.res.output);
		cr_expect_eq(b.res.ambiguous, rows[i].ambiguous, "row %zu", i);
		cr_expect_eq(b.res.exit_code, rows[i].exit_code, "row %zu: %d", i,
			     b.res.exit_code);
		cr_expect_eq(b.res.errc, rows[i].errc, "row %zu", i);
		cr_expect_not_null(strstr(b.res.output, rows[i].says), "row %zu: %s", i,
				   b.res.output);
		cr_expect_leq(strlen(b.res.output), 8192);
		cr_expect_lt(clock_system()->mono_ms(clock_system()) - began, 15000,
			     "row %zu", i);
		bench_end(&b);
	}
}

/* Helm applies on the server's side unless told not to, at every verb that writes. */
Test(kube_helm_run, objects_are_never_applied_on_the_servers_side)
{
	static const enum helm_verb writes[] = {HELM_UPGRADE_INSTALL, HELM_ROLLBACK};

	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		const struct helm_request r = {
			.verb = writes[i], .release = "r", .ns = "a", .chart = "/c"};
		struct bench b;

		bench_init(&b, "echo \"args: $*\" >&2");
		bench_run(&b, &r, 20000);
		cr_expect(strstr(b.res.output, " --server-side false "), "%s",
			  b.res.output);
		bench_end(&b);
	}
}

/* Rendered image, and what a mirror makes of it. */
Test(kube_helm_run, a_mirror_stands_for_every_registry)
{
	static const char *const rows[][2] = {
		{"image: nvcr.io/nvidia/k8s-device-plugin:v0.16.1",
		 "image: m.example:5000/a/nvidia/k8s-device-plugin:v0.16.1"},
		{"  - image: \"public.ecr.aws/eks/lb:v3.5.0\"",
		 "  - image: \"m.example:5000/a/eks/lb:v3.5.0\""},
		{"    image: '6024.dkr.ecr.cn-north-1.amazonaws.com.cn/eks/x@sha256:ab'",
		 "    image: 'm.example:5000/a/eks/x@sha256:ab'"},
		{"image: localhost:5000/x", "image: m.example:5000/a/x"},
		{"image: registry:5000/x/y", "image: m.example:5000/a/x/y"},
		{"image: localhost/x", "image: m.example:5000/a/x"},
		/* Docker Hub's, with and without a name of its owner. */
		{"image: mpioperator/mpi-operator:0.5",
		 "image: m.example:5000/a/mpioperator/mpi-operator:0.5"},
		{"image: busybox:1", "image: m.example:5000/a/library/busybox:1"},
		{"containers: [{name: main, image: \"busybox:1\"}]",
		 "containers: [{name: main, image: \"m.example:5000/a/library/busybox:1\"}]"},
		/* No image at all. */
		{"image:", "image:"},
		{"  imagePullPolicy: Always", "  imagePullPolicy: Always"},
		{"# image: x/y", "# image: x/y"},
		{"  description: the image: of x.y/z",
		 "  description: the image: of x.y/z"},
	};
	struct bench b;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct helm_request r = {.verb = HELM_UPGRADE_INSTALL,
					       .release = "r",
					       .ns = "a",
					       .chart = "/c"};
		struct helm h = {.image_mirror = "m.example:5000/a", .timeout_ms = 20000};
		const struct kube_target t = {"https://k", "CA", "demo"};

		bench_init(
			&b,
			"case \"$*\" in *'--post-renderer mirror '*) ;; *) exit 3;; esac\n"
			"grep -q 'type: postrenderer/v1' $HELM_PLUGINS/mirror/plugin.yaml && "
			"sed -E -f $HELM_PLUGINS/mirror/images.sed <$0.in >&2");
		{
			FILE *f = fopen(arena_printf(&b.a, "%s.in", b.binary), "w");

			fprintf(f, "%s\n", rows[i][0]);
			fclose(f);
		}
		h.binary = b.binary;
		h.tmp_dir = b.folder;
		helm_call(&h, &b.kube, &t, &r, &b.a, &b.res);
		cr_expect(b.res.ok, "row %zu: %s", i, b.res.output);
		cr_expect_str_eq(b.res.output,
				 str_dup(&b.a, str_trim(str_of(rows[i][1]))),
				 "row %zu: %s", i, b.res.output);
		unlink(arena_printf(&b.a, "%s.in", b.binary));
		bench_end(&b);
	}
}

Test(kube_helm_run, a_mirror_is_a_host_and_a_path)
{
	static const char *const good[] = {
		"registry.example.com", "r:5000", "r/a/b",
		"111122223333.dkr.ecr.us-west-2.amazonaws.com/m"};
	static const char *const bad[] = {"",   "https://r", "r/",   "/r",   "r#x",
					  "r&", "r x",       "r\\1", "r\nd", "a//b"};
	struct err e;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_expect(helm_mirror_check(good[i], &e), "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not(helm_mirror_check(bad[i], &e), "%s", bad[i]);
}

Test(kube_helm_run, names_are_no_flags)
{
	static const struct helm_request rows[] = {
		{.verb = HELM_UNINSTALL, .release = "--kubeconfig=/x", .ns = "a"},
		{.verb = HELM_UNINSTALL, .release = "r", .ns = "-n"},
		{.verb = HELM_UNINSTALL, .release = "", .ns = "a"},
		{.verb = HELM_UPGRADE_INSTALL, .release = "r", .ns = "a"},
	};
	struct bench b;

	bench_init(&b, "exit 0");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bench_run(&b, &rows[i], 5000);
		cr_expect_eq(b.res.errc, ERR_INVALID_INPUT, "row %zu", i);
	}
	bench_end(&b);
}
