/* Reading the audit trail, and proving that nobody has changed it. */
#include "core/base/nearest.h"
#include "core/domain/capability.h"
#include "core/domain/page.h"
#include "gen/queries.h"

struct list_audit {
	const char *principal;
	const char *capability;
	const char *operation;
	int64_t limit;
	const char *cursor;
};

static const struct field list_audit_in[] = {
	FIELD(struct list_audit, principal, .max = 128, .doc = "Filter by principal."),
	FIELD(struct list_audit, capability, .max = 64,
	      .doc = "Filter by capability name."),
	FIELD(struct list_audit, operation, .max = 64, .doc = "Filter by operation."),
	FIELD(struct list_audit, limit, .min = 1, .max = 100, .dflt = "20",
	      .doc = "Maximum number of items per page."),
	FIELD(struct list_audit, cursor, .pattern = "[0-9]{1,18}",
	      .doc = "next_cursor of the previous page."),
	FIELD_END};

static const struct field audit_out[] = {
	OUT("id", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Sequence number of the entry."),
	OUT("at", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "When."),
	OUT("principal", FIELD_STR, .doc = "Principal that made the call, if known."),
	OUT("face", FIELD_STR, .doc = "rest, mcp or console."),
	OUT("capability", FIELD_STR, .doc = "Capability that was called."),
	OUT("target", FIELD_STR, .doc = "Target of the call."),
	OUT("operation", FIELD_STR,
	    .doc = "Operation that the call started or affected."),
	OUT("outcome", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "accepted, same (repeat of an earlier request), done or refused."),
	OUT("code", FIELD_STR, .doc = "Error code of a refused call."),
	OUT("detail", FIELD_STR, .doc = "Error message of a refused call."),
	OUT("parameters", FIELD_OBJECT, .flags = FIELD_OPEN,
	    .doc = "Request input. Secrets are masked."),
	OUT("request_id", FIELD_STR, .doc = "Request ID."),
	OUT("chain_no", FIELD_INT,
	    .doc = "Position in the hash chain. Absent until the entry is chained."),
	OUT("hash", FIELD_STR, .doc = "Hash of this entry and the previous one."),
	FIELD_END};

static const struct field list_audit_out[] = {PAGE_OUT(audit_out), FIELD_END};

/* Recorded, and no capability: a sign-in through the console. */
static const char sign_in[] = "login";

/* An empty list of a capability that does not exist would read as "nobody did that". */
static bool is_recorded(struct call *c, const char *name, struct err *e)
{
	struct nearest n = {.wanted = name};

	if (!name || streq(name, sign_in))
		return true;
	nearest_offer(&n, sign_in);
	for (size_t i = 0; capabilities[i]; i++) {
		if (streq(capabilities[i]->name, name))
			return true;
		nearest_offer(&n, capabilities[i]->name);
	}
	err_set(e, ERR_INVALID_INPUT, "There is no capability named %s", name);
	return err_field(
		e, "/capability", name,
		nearest_hint(&n, c->arena, "a capability, for example create_cluster"));
}

static bool run_list_audit(struct call *c, const void *in, struct reply *ret,
			   struct err *e)
{
	const struct list_audit *l = in;
	struct db_rows rows;

	if (!is_recorded(c, l->capability, e))
		return false;
	if (!DB(c->db, c->arena, &Q_audit_list, &rows, e, l->principal, l->capability,
		l->operation, l->cursor,
		arena_printf(c->arena, "%lld", (long long)l->limit)))
		return false;
	reply_text(ret, str_of(db_text(&rows, 0, "doc")));
	return true;
}

extern const struct capability cap_list_audit;
const struct capability cap_list_audit = {
	.name = "list_audit",
	.method = "GET",
	.path = "/audit",
	.title = "List the audit trail",
	.doc = "Lists every call that changed something or tried to, newest first.",
	.effect = CAP_READ,
	.role = ROLE_ADMIN,
	.flags = CAP_LIST,
	.in = list_audit_in,
	.in_size = sizeof(struct list_audit),
	.out = list_audit_out,
	.run = run_list_audit,
};

static const struct field verify_audit_out[] = {
	OUT("ok", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether the chain is intact."),
	OUT("checked", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Number of entries checked."),
	OUT("unchained", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Number of newest entries not chained yet."),
	OUT("broken_at", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Position of the first invalid entry."),
	OUT("why", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "What is wrong with that entry."),
	FIELD_END};

static bool run_verify_audit(struct call *c, const void *in, struct reply *ret,
			     struct err *e)
{
	struct db_rows rows;

	(void)in;
	if (!db_query(c->db, c->arena, &Q_audit_verify, NULL, 0, &rows, e))
		return false;
	reply_text(ret, str_of(db_text(&rows, 0, "doc")));
	return true;
}

extern const struct capability cap_verify_audit;
const struct capability cap_verify_audit = {
	.name = "verify_audit",
	.method = "GET",
	.path = "/audit:verify",
	.title = "Verify the audit trail",
	.doc = "Recomputes the hash chain and reports the first entry that does not "
	       "match.",
	.effect = CAP_READ,
	.role = ROLE_ADMIN,
	.out = verify_audit_out,
	.run = run_verify_audit,
};
