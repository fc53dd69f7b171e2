/* The members of an operation, as sql/migrations renders it (op_render). */
#include "core/domain/operation_out.h"

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
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name."),
	OUT("title", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "Title."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = phase_states,
	    .doc = "State."),
	OUT("started_at", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "Start time."),
	OUT("ended_at", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "End time."),
	FIELD_END};

static const struct field progress_out[] = {
	OUT("done", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "Phases completed."),
	OUT("total", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "All phases."),
	FIELD_END};

static const struct field actor_out[] = {
	OUT("id", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Principal ID."),
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name."), FIELD_END};

static const struct field links_out[] = {
	OUT("self", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "URL of the operation."),
	OUT("events", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "URL of its events."),
	FIELD_END};

static const struct field next_out[] = {
	OUT("tool", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Call to make next."),
	OUT("arguments", FIELD_OBJECT, .flags = FIELD_REQUIRED | FIELD_OPEN,
	    .doc = "Arguments of the call."),
	OUT("why", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Reason for the call."),
	FIELD_END};

#define NESTED(member, sub, flags_, doc_)                                                \
	{                                                                                \
		.name = (member), .type = FIELD_OBJECT, .flags = (flags_),               \
		.fields = (sub), .doc = (doc_)                                           \
	}

const struct field operation_out[] = {
	OUT("id", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Operation ID."),
	OUT("kind", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Kind of operation."),
	OUT("title", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Title of the operation."),
	OUT("target", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Target of the operation."),
	OUT("cluster", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the cluster."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = states,
	    .doc = "live until it ends; held while a person must decide."),
	OUT("status", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = statuses,
	    .doc = "Display name of the state."),
	OUT("done", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether the operation has ended."),
	OUT("phase", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Current phase."),
	NESTED("phases", phase_out, FIELD_REQUIRED | FIELD_MANY,
	       "Timeline of the phases."),
	NESTED("progress", progress_out, FIELD_REQUIRED, "Phases completed."),
	OUT("step", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Current step."),
	OUT("attempt", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Number of retries after failures."),
	OUT("waiting_for", FIELD_STR, .doc = "What the operation is waiting for."),
	OUT("blind_since", FIELD_STR,
	    .doc = "When AWS or the cluster became unreachable. Deadlines exclude this time."),
	OUT("question", FIELD_OBJECT, .flags = FIELD_OPEN,
	    .doc = "Of a held operation: question, evidence and choices."),
	OUT("result", FIELD_OBJECT, .flags = FIELD_OPEN,
	    .doc = "Result of a succeeded operation. Otherwise still_wanted: what the "
		   "cloud continues to do, and how to stop it."),
	OUT("error", FIELD_OBJECT, .flags = FIELD_OPEN,
	    .doc = "Of a failed operation: code, detail, fix, retry and causes."),
	OUT("cancellable", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether it can be cancelled."),
	OUT("retryable", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether it can be retried."),
	NESTED("actor", actor_out, FIELD_REQUIRED, "Principal that started it."),
	OUT("face", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = faces,
	    .doc = "rest, mcp or console."),
	OUT("parent", FIELD_STR, .doc = "Operation that this one is a stage of."),
	OUT("children", FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY,
	    .doc = "Stages: id, kind, title, stage and state."),
	OUT("created_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Time of acceptance."),
	OUT("updated_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Time of the last change."),
	OUT("ended_at", FIELD_STR, .doc = "End time."),
	OUT("version", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Increases with every change."),
	NESTED("links", links_out, FIELD_REQUIRED, "URLs on this server."),
	NESTED("next", next_out, 0,
	       "Call that returns more information, if there is one."),
	FIELD_END};
