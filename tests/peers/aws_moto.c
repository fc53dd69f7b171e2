/*
 * Our AWS client, led from outside: one JSON line in, one line out.
 *
 *   aws_moto --list              {"op": "ec2.CreateVpc", "mutates": true, "token": …} a
 * row aws_moto                     reads {"op": "ec2.CreateVpc", "in": {…}}, writes
 *                                {"ok", "status", "code", "message", "errc", "out"};
 *                                "pages": true reads all pages (aws_read)
 *
 * Endpoint, region and keys come from the standard variables of the environment.
 */
#include <stdio.h>
#include <string.h>

#include "core/aws/aws.h"
#include "core/base/config.h"
#include "core/base/str.h"
#include "core/json/tree.h"

enum { LINE_SIZE = 4 * 1024 * 1024, TIMEOUT_MS = 30 * 1000 };

static const char *name_of(struct arena *a, enum aws_op_id id)
{
	const struct aws_op *op = aws_op(id);

	return arena_printf(a, "%s.%s", aws_op_service(op), aws_op_name(op));
}

static void print(struct arena *a, const json_t *line)
{
	printf("%s\n", json_text(a, line));
	fflush(stdout);
}

static int list(struct arena *a)
{
	for (int id = 0; id < AWS_OPS_COUNT_; id++) {
		const struct aws_op *op = aws_op((enum aws_op_id)id);

		print(a,
		      json_packf(a, "{s:s,s:b,s:s?}", "op",
				 name_of(a, (enum aws_op_id)id), "mutates",
				 aws_op_mutates(op), "token", aws_op_token_member(op)));
	}
	return 0;
}

static bool find(struct arena *a, const char *name, enum aws_op_id *ret)
{
	for (int id = 0; id < AWS_OPS_COUNT_; id++)
		if (streq(name_of(a, (enum aws_op_id)id), name)) {
			*ret = (enum aws_op_id)id;
			return true;
		}
	return false;
}

static void read_pages(struct aws *aws, enum aws_op_id id, const json_t *in,
		       struct arena *a)
{
	int64_t until = aws->clock->mono_ms(aws->clock) + TIMEOUT_MS;
	struct err e = {0};
	json_t *out = NULL;
	bool ok = aws_read(aws, id, in, until, a, &out, &e);

	print(a, json_packf(a, "{s:b,s:s?,s:O?}", "ok", ok, "message",
			    ok ? NULL : e.detail, "out", ok ? out : NULL));
}

static void serve(struct aws *aws, const char *line, struct arena *a)
{
	struct err e = {0};
	json_t *asked = json_parse(a, str_of(line), &e);
	enum aws_op_id id;
	struct aws_result r;

	if (!asked || !find(a, json_str_or(asked, "op", ""), &id)) {
		print(a, json_packf(a, "{s:b,s:s}", "ok", 0, "message",
				    "no such operation"));
		return;
	}
	const json_t *in = json_object_get(asked, "in");

	if (json_bool_or(asked, "pages", false)) {
		read_pages(aws, id, in, a);
		return;
	}
	aws_call(aws, id, in, a, &r);
	print(a, json_packf(a, "{s:b,s:i,s:s?,s:s?,s:s?,s:b,s:s,s:O?}", "ok", r.ok,
			    "status", r.status, "code", r.code, "message", r.message,
			    "request_id", r.request_id, "ambiguous", r.ambiguous, "errc",
			    errc_info(r.errc)->slug, "out", r.ok ? r.out : NULL));
}

int main(int argc, char **argv)
{
	struct arena process, a;
	struct err e = {0};

	json_init();
	arena_init(&process, 2 * LINE_SIZE);
	arena_init(&a, 0);
	if (argc > 1 && streq(argv[1], "--list"))
		return list(&a);
	struct transport *net = net_curl_new(&process, NULL, &e);
	const char *region = config_from_env(NULL, "AWS_REGION");

	if (!net || !region) {
		fprintf(stderr, "aws_moto: %s\n",
			net ? "AWS_REGION is not set" : e.detail);
		return 1;
	}
	struct aws aws = {
		.net = net,
		.credentials = aws_credentials_new(&process, net, clock_system(), region,
						   config_from_env, NULL),
		.clock = clock_system(),
		.rng = rng_system(),
		.region = region,
		.timeout_ms = TIMEOUT_MS,
		.lookup = config_from_env,
	};

	char *line = arena_alloc(&process, LINE_SIZE);

	while (fgets(line, LINE_SIZE, stdin)) {
		serve(&aws, line, &a);
		arena_reset(&a);
	}
	return 0;
}
