#include "core/domain/capability.h"

#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/limits.h"
#include "core/domain/audit.h"
#include "core/domain/operation_out.h"
#include "core/json/tree.h"

static const char *const roles[] = {"none", "viewer", "operator", "admin"};
static const char *const effects[] = {"read", "change", "destroy", "spend"};
static const char *const faces[] = {"rest", "mcp", "console"};

const char *role_name(enum role r)
{
	return roles[r];
}

enum role role_from_name(const char *name)
{
	for (int r = ROLE_VIEWER; r <= ROLE_ADMIN; r++)
		if (streq(name, roles[r]))
			return (enum role)r;
	return ROLE_NONE;
}

const char *cap_effect_name(enum cap_effect x)
{
	return effects[x];
}

const char *face_name(enum face f)
{
	return faces[f];
}

const struct capability *capability_find(const char *name)
{
	for (const struct capability *const *c = capabilities; *c; c++)
		if (streq((*c)->name, name))
			return *c;
	return NULL;
}

bool capability_mutates(const struct capability *cap)
{
	return cap->effect != CAP_READ;
}

bool capability_is_slow(const struct capability *cap, const struct call_options *o)
{
	return cap->flags & (CAP_CLOUD | CAP_STAKES | CAP_MORE_STAKES) ||
	       (cap->flags & CAP_LONG && (o->dry_run || o->plan_digest));
}

/* --- call options ------------------------------------------------------ */

struct options_in {
	const char *idempotency_key;
	const char *dry_run;
	const char *plan_digest;
	bool queue;
	bool accept_missing_rights;
	const char *confirm;
};

static const char *const dry_run_values[] = {"plan", NULL};

/* Most other APIs have a switch here. */
static const char *meant_dry_run(struct arena *a, const json_t *value)
{
	const char *z = json_string_value(value);

	(void)a;
	return json_is_true(value) || (z && (strcasecmp(z, "true") == 0 || streq(z, "1")))
		       ? "plan"
		       : NULL;
}

#define OPTION_DRY_RUN                                                                   \
	FIELD(struct options_in, dry_run, .flags = FIELD_QUERY,                          \
	      .one_of = dry_run_values, .meant = meant_dry_run,                          \
	      .doc = "Return only the plan.")
#define OPTION_PLAN_DIGEST                                                               \
	FIELD(struct options_in, plan_digest, .flags = FIELD_QUERY,                      \
	      .pattern = "[0-9a-f]{64}", .doc = "Run only this plan.")
#define OPTION_KEY                                                                       \
	FIELD(struct options_in, idempotency_key, .pattern = "[\\x21-\\x7e]{1,128}",     \
	      .doc = "Unique; makes retries safe.")
#define OPTION_QUEUE                                                                     \
	FIELD(struct options_in, queue, .flags = FIELD_QUERY,                            \
	      .doc = "Wait behind running operations.")
#define OPTION_RIGHTS                                                                    \
	FIELD(struct options_in, accept_missing_rights, .flags = FIELD_QUERY,            \
	      .doc = "Run even if permissions are missing.")
#define OPTION_CONFIRM                                                                   \
	FIELD(struct options_in, confirm, .flags = FIELD_QUERY, .max = 256,              \
	      .doc = "Name of the target, or the plan's confirm.")

#define OPTION_STAKES                                                                    \
	FIELD(struct options_in, confirm, .flags = FIELD_QUERY, .max = 256,              \
	      .doc = "The plan's confirm, if any.")

static const struct field options_none[] = {FIELD_END};
static const struct field options_change[] = {OPTION_KEY, OPTION_DRY_RUN,
					      OPTION_PLAN_DIGEST, FIELD_END};
static const struct field options_long[] = {OPTION_KEY,         OPTION_DRY_RUN,
					    OPTION_PLAN_DIGEST, OPTION_QUEUE,
					    OPTION_RIGHTS,      FIELD_END};
static const struct field options_undo[] = {
	OPTION_KEY, OPTION_DRY_RUN, OPTION_PLAN_DIGEST, OPTION_CONFIRM, FIELD_END};
static const struct field options_confirm[] = {
	OPTION_KEY,     OPTION_DRY_RUN, OPTION_PLAN_DIGEST, OPTION_QUEUE,
	OPTION_CONFIRM, OPTION_RIGHTS,  FIELD_END};

static const struct field options_stakes[] = {
	OPTION_KEY,    OPTION_DRY_RUN, OPTION_PLAN_DIGEST, OPTION_QUEUE,
	OPTION_STAKES, OPTION_RIGHTS,  FIELD_END};

static bool needs_confirm(const struct capability *cap)
{
	return cap->effect == CAP_DESTROY || cap->effect == CAP_SPEND;
}

static bool wants_confirm(const struct capability *cap, const json_t *in)
{
	return needs_confirm(cap) ||
	       (cap->flags & CAP_UNDO && json_bool_or(in, "undo", false));
}

const struct field *capability_options(const struct capability *cap)
{
	if (cap->flags & CAP_STAKES)
		return options_stakes;
	if (needs_confirm(cap))
		return options_confirm;
	if (cap->flags & CAP_UNDO)
		return options_undo;
	if (cap->flags & CAP_LONG)
		return options_long;
	return capability_mutates(cap) ? options_change : options_none;
}

bool capability_split(const struct capability *cap, const json_t *all, bool texts,
		      struct arena *a, json_t **ret_in, struct call_options *ret,
		      struct err *e)
{
	const struct field *fields = capability_options(cap);
	json_t *own = json_new_object(a), *options = json_new_object(a);
	struct options_in in = {0};
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)all, key, value)
		json_object_set(field_find(fields, key) ? options : own, key, value);
	*ret_in = field_sent(cap->in ? cap->in : options_none, own, texts, a);
	if (!field_decode(fields, field_sent(fields, options, texts, a), a, &in, e))
		return false;
	ret->idempotency_key = in.idempotency_key;
	ret->dry_run = in.dry_run != NULL;
	ret->plan_digest = in.plan_digest;
	ret->queue = in.queue;
	ret->accept_missing_rights = in.accept_missing_rights;
	ret->confirm = in.confirm;
	return true;
}

/* --- the one door ------------------------------------------------------ */

bool capability_check_role(const struct call *c, struct err *e)
{
	const enum role least = c->cap->role;

	if (c->who && c->who->role >= least)
		return true;
	err_set(e, ERR_FORBIDDEN, "%s requires the role %s", c->cap->name,
		role_name(least));
	err_field(e, "", role_name(c->who ? c->who->role : ROLE_NONE), role_name(least));
	return err_fix(e, "Ask an administrator for a token with the role %s.",
		       role_name(least));
}

bool call_is_word(const char *confirm)
{
	enum { WORD = 16 };

	return confirm && strlen(confirm) == WORD &&
	       strspn(confirm, "0123456789abcdef") == WORD;
}

/* Why a word is asked for; of a cancel, it is the undo that deletes. */
static const char *reason_to_confirm(const struct capability *cap)
{
	if (cap->flags & CAP_UNDO)
		return "deletes what the operation created";
	return cap->effect == CAP_SPEND ? "spends money" : "cannot be undone";
}

/* A destroying or spending call repeats the name of what it is about. */
static bool check_confirm(const struct call *c, const json_t *in, struct err *e)
{
	const char *target = c->cap->target ? json_str_at(in, c->cap->target) : NULL;

	if (!target)
		target = c->cap->name;
	if (!wants_confirm(c->cap, in) || c->opt.dry_run || streq(c->opt.confirm, target))
		return true;
	/* What is lost must be looked up first: call_submit() asks. */
	if (c->cap->flags & CAP_STAKES || (c->cap->flags & (CAP_MORE_STAKES | CAP_UNDO) &&
					   call_is_word(c->opt.confirm)))
		return true;
	err_set(e, ERR_CONFIRM_NEEDED, "%s: This %s. confirm must be \"%s\"",
		c->cap->title, reason_to_confirm(c->cap), target);
	err_field(e, "/confirm", c->opt.confirm ? c->opt.confirm : "", target);
	return err_fix(
		e,
		"Review the plan (dry_run=plan), then send confirm with the name of the "
		"target.");
}

/* Nobody confirms what is refused all the same. */
static bool may_go_on(struct call *c, const json_t *in, const void *decoded,
		      struct err *e)
{
	const bool confirmed = check_confirm(c, in, e);
	struct err sooner = {0};

	if ((confirmed && !c->opt.dry_run) || !c->cap->first ||
	    c->cap->first(c, decoded, &sooner))
		return confirmed;
	*e = sooner;
	return false;
}

/*
 * The plan of a change that is no operation: one step, our own. It has a
 * digest like every plan, so that a caller can treat all mutations alike.
 */
static bool plan_change(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct capability *cap = c->cap;
	json_t *tree =
		cap->in ? field_encode(cap->in, in, c->arena) : json_new_object(c->arena);
	json_t *shown = cap->in ? field_mask(cap->in, tree, c->arena) : tree;
	const char *target = cap->target ? json_str_at(tree, cap->target) : NULL;
	const char *digest =
		json_digest(c->arena, json_packf(c->arena, "{s:s,s:O}", "kind", cap->name,
						 "in", tree));
	json_t *plan = json_packf(
		c->arena, "{s:s,s:s*,s:[{s:s,s:s,s:s,s:s,s:O}],s:[],s:[],s:s}", "kind",
		cap->name, "target", target, "steps", "step", cap->name, "title",
		cap->title, "action", "call", "what", cap->doc, "request", shown,
		"resources", "warnings", "plan_digest", digest);

	if (c->opt.dry_run || !streq(c->opt.plan_digest, digest)) {
		reply_tree(c, ret, plan);
		ret->planned = true;
	}
	if (c->opt.dry_run || streq(c->opt.plan_digest, digest))
		return true;
	err_set(e, ERR_PLAN_CHANGED, "The request differs from the one that was planned");
	return err_field(e, "/plan_digest", c->opt.plan_digest, digest);
}

static bool run(struct call *c, const json_t *in, struct reply *ret, struct err *e)
{
	const struct capability *cap = c->cap;
	/* An undo is an operation, too: its handler plans it. */
	const bool undoes = cap->flags & CAP_UNDO && json_bool_or(in, "undo", false);
	const bool plans = capability_mutates(cap) && !(cap->flags & CAP_LONG) &&
			   !undoes && (c->opt.dry_run || c->opt.plan_digest);
	void *decoded = arena_alloc(c->arena, cap->in_size);

	if (!capability_check_role(c, e))
		return false;
	if (!field_decode(cap->in ? cap->in : options_none, in, c->arena, decoded, e))
		return false;
	c->meant = field_encode(cap->in ? cap->in : options_none, decoded, c->arena);
	if (!may_go_on(c, in, decoded, e))
		return false;
	if (plans && !plan_change(c, decoded, ret, e))
		return false;
	if (plans && c->opt.dry_run)
		return true;
	if (!cap->run(c, decoded, ret, e))
		return false;
	if (!ret->too_large || capability_mutates(cap))
		return true;
	ret->json = (struct str){0};
	err_set(e, ERR_TOO_LARGE, "The answer is larger than %d bytes", LIMIT_DB_PARAM);
	return err_fix(e, "Use a filter or a smaller limit.");
}

/*
 * A refused mutation is recorded here; an accepted operation by its own
 * transaction (op_submit); any other change here, after it was made.
 */
bool capability_invoke(struct call *c, const json_t *in, struct reply *ret, struct err *e)
{
	struct err audit = {0};
	bool ok;

	*ret = (struct reply){.status = 200};
	err_clear(e);
	if (!c->raw)
		c->raw = in;
	ok = run(c, in, ret, e);
	if (!ok && e->code == ERR_NONE)
		err_set(e, ERR_INTERNAL, "%s failed without a reason", c->cap->name);
	if (!capability_mutates(c->cap) || ret->planned)
		return ok;
	if (!ok) {
		/* The caller must learn of the first fault, not of this one. */
		if (!call_audit(c, "refused", e, &audit))
			err_because(e, "audit", errc_info(audit.code)->slug, audit.detail,
				    NULL);
		return false;
	}
	if (c->cap->flags & (CAP_LONG | CAP_AUDITED))
		return true;
	return call_audit(c, "done", NULL, e);
}

bool call_audit(struct call *c, const char *outcome, const struct err *why, struct err *e)
{
	const struct capability *cap = c->cap;
	const struct audit_entry entry = {
		.principal = c->who ? c->who->id : NULL,
		.face = face_name(c->face),
		.capability = cap->name,
		.target = cap->target ? json_str_at(c->raw, cap->target) : NULL,
		.outcome = outcome,
		.code = why ? errc_info(why->code)->slug : NULL,
		.detail = why ? why->detail : NULL,
		.params = cap->in ? field_mask(cap->in, c->raw, c->arena) : NULL,
		.request_id = c->request_id,
	};

	return audit_add(c->db, c->arena, &entry, e);
}

bool call_window(const char *from, const char *to, const char *pointer, struct err *e)
{
	int64_t from_ms, to_ms;

	if (!from || !to || !time_parse_rfc3339(from, &from_ms) ||
	    !time_parse_rfc3339(to, &to_ms) || from_ms < to_ms)
		return true;
	err_set(e, ERR_INVALID_INPUT, "nothing is after %s and before %s", from, to);
	return err_field(e, pointer, to, "a moment after the first one");
}

bool call_page_failed(const char *cursor, struct err *e)
{
	const struct err was = *e;

	if (!cursor || was.code != ERR_CLOUD_REFUSED || was.n_causes == 0 ||
	    !strcasestr(was.cause[0].message, "token"))
		return false;
	err_set(e, ERR_INVALID_INPUT, "/cursor is not a valid cursor");
	err_field(e, "/cursor", cursor, "next_cursor of the previous page");
	return err_because(e, was.cause[0].source, was.cause[0].code,
			   was.cause[0].message, was.cause[0].request_id);
}

int64_t call_read_deadline(const struct call *c)
{
	return c->until_ms ? c->until_ms
			   : c->clock->mono_ms(c->clock) + c->cfg->read_deadline_ms;
}

void reply_tree(struct call *c, struct reply *ret, const json_t *tree)
{
	struct buf b;

	buf_init(&b, c->arena, LIMIT_DB_PARAM);
	json_write_to(&b, tree);
	ret->json = buf_str(&b);
	ret->too_large = b.overflow;
}

void reply_text(struct reply *ret, struct str json)
{
	ret->json = json;
}
