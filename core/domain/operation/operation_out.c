/* The members of an operation, as sql/migrations renders it (op_render). */
#include "core/domain/operation/operation.h"

static const char *const states[] = {"live",   "held",      "succeeded",
				     "failed", "cancelled", NULL};

/* Of sql/migrations: op_status(), op_phase(), and whoever accepts. */
static const char *const statuses[] = {
	"queued",         "running",         "waiting", "cancelling", "succeeded",
	"needs-decision", "outcome-unknown", "failed",  "cancelled",  NULL};
static const char *const phase_states[] = {"pending", "running", "held",      "done",
					   "skipped", "failed",  "cancelled", NULL};
static const char *const faces[] = {"rest", "mcp", "console", NULL};

static const struct field phase_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Stored name."),
	OUT("title", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "In words."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = phase_states,
	    .doc = "How far it is."),
	OUT("started_at", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "When it began."),
	OUT("ended_at", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "When it ended."),
	FIELD_END};

static const struct field progress_out[] = {
	OUT("done", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "Phases that are done."),
	OUT("total", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "All phases."),
	FIELD_END};

static const struct field actor_out[] = {
	OUT("id", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Principal."),
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "In words."), FIELD_END};

static const struct field links_out[] = {
	OUT("self", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "This operation."),
	OUT("events", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Its history."),
	FIELD_END};

static const struct field next_out[] = {
	OUT("tool", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "What to call next."),
	OUT("arguments", FIELD_OBJECT, .flags = FIELD_REQUIRED | FIELD_OPEN,
	    .doc = "With these arguments."),
	OUT("why", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "In words."), FIELD_END};

#define NESTED(member, sub, flags_, doc_)                                                \
	{                                                                                \
		.name = (member), .type = FIELD_OBJECT, .flags = (flags_),               \
		.fields = (sub), .doc = (doc_)                                           \
	}

const struct field operation_out[] = {
	OUT("id", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Names the operation."),
	OUT("kind", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "What it does, stored name."),
	OUT("title", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "What it does, in words."),
	OUT("target", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "What it works on."),
	OUT("cluster", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "The cluster it belongs to."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = states,
	    .doc = "live until it ends; held when only a person can say how to go on."),
	OUT("status", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = statuses,
	    .doc = "The same for people."),
	OUT("done", FIELD_BOOL, .flags = FIELD_REQUIRED, .doc = "It has ended."),
	OUT("phase", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Where it stands."),
	NESTED("phases", phase_out, FIELD_REQUIRED | FIELD_MANY, "Its timeline."),
	NESTED("progress", progress_out, FIELD_REQUIRED, "Phases done of all."),
	OUT("step", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Where it stands exactly."),
	OUT("attempt", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Tries after failures."),
	OUT("waiting_for", FIELD_STR, .doc = "What it waits for, in one sentence."),
	OUT("blind_since", FIELD_STR,
	    .doc = "Nothing could be seen since then: no credentials, or no way to AWS "
		   "or to the cluster. Such time counts against no deadline."),
	OUT("question", FIELD_OBJECT, .flags = FIELD_OPEN,
	    .doc = "Held: the question, evidence and choices."),
	OUT("result", FIELD_OBJECT, .flags = FIELD_OPEN,
	    .doc = "Of a succeeded operation; of another: still_wanted, what the cloud goes "
		   "on with, and how to stop it."),
	OUT("error", FIELD_OBJECT, .flags = FIELD_OPEN,
	    .doc = "Of a failed one: code, detail, fix, retry, causes."),
	OUT("cancellable", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "It can be cancelled."),
	OUT("retryable", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "It can go on at its failed step."),
	NESTED("actor", actor_out, FIELD_REQUIRED, "Who started it."),
	OUT("face", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = faces,
	    .doc = "By which way it came."),
	OUT("parent", FIELD_STR, .doc = "The operation it is a stage of."),
	OUT("children", FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY,
	    .doc = "Its stages: id, kind, title, stage, state."),
	OUT("created_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "When it was accepted."),
	OUT("updated_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "When it last changed."),
	OUT("ended_at", FIELD_STR, .doc = "When it ended."),
	OUT("version", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Grows with every change."),
	NESTED("links", links_out, FIELD_REQUIRED, "Addresses below this server."),
	NESTED("next", next_out, 0, "The call that tells more, while there is one."),
	FIELD_END};
