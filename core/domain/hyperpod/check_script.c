/*
 * check_script.c - the caller's own lifecycle script, before a node runs it.
 *
 * A script that is not there or has CRLF line endings kills every node before
 * it can say why (case CC-10).
 */
#include <string.h>

#include "core/domain/hyperpod/bucket.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static const char *script_name(const struct step_ctx *c)
{
	const char *given = step_input(c, "lifecycle_on_create");

	return given ? given : script_on_create.name;
}

/* {Bucket, Key} of "s3://bucket/folder" and the script's name. */
static json_t *script_object(struct step_ctx *c)
{
	struct str rest = str_of(step_input(c, "lifecycle_s3_uri") + strlen("s3://"));
	const char *bucket = str_dup(c->arena, str_cut(&rest, '/'));
	const char *folder = rest.p ? str_dup(c->arena, rest) : "";
	const size_t n = strlen(folder);

	return json_packf(c->arena, "{s:s, s:s}", "Bucket", bucket, "Key",
			  arena_printf(c->arena, "%s%s%s", folder,
				       n && folder[n - 1] != '/' ? "/" : "",
				       script_name(c)));
}

bool own_script_observe(struct step_ctx *c, struct exchange *x)
{
	return step_input(c, "lifecycle_s3_uri") &&
	       read_aws(c, x, "script", AWS_S3_GetObject, script_object(c));
}

void own_script_plan(struct step_ctx *c, struct exchange *x)
{
	const char *uri = step_input(c, "lifecycle_s3_uri");
	const char *text = json_str_at(saw(c, "script"), "Body");
	struct err *e;

	(void)x;
	if (!uri)
		return;
	if (saw_missing(c, "script")) {
		e = step_fail(c, ERR_INVALID_INPUT, "There is no script %s in %s",
			      script_name(c), uri);
		err_field(e, "/lifecycle_on_create", script_name(c),
			  "the name of a script in that folder");
		return;
	}
	if (!saw_ok(c, "script")) {
		/* Nodes read it by their own role, not by ours. */
		step_not_known(c, "script", "the script %s in %s could not be read: %s",
			       script_name(c), uri, saw_why(c, "script"));
		return;
	}
	if (text && strstr(text, "\r\n")) {
		e = step_fail(c, ERR_INVALID_INPUT, "The script %s has CRLF line endings",
			      script_name(c));
		err_field(e, "/lifecycle_on_create", "CRLF line endings",
			  "LF line endings");
		err_fix(e, "Run dos2unix on %s and upload it to %s again.",
			script_name(c), uri);
	}
}
