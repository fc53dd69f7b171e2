/*
 * audit.h - the append-only record of every call that changed or tried to.
 *
 * Rows are chained by hash; the chain is closed in the background, not in the
 * request (see sql/migrations). Parameters come here masked.
 */
#ifndef INSTANTSTART_DOMAIN_AUDIT_H
#define INSTANTSTART_DOMAIN_AUDIT_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/db/db.h"

struct audit_entry {
	const char *principal; /* id, or NULL: nobody known */
	const char *face;
	const char *capability;
	const char *target;   /* or NULL */
	const char *outcome;  /* "done", "refused" */
	const char *code;     /* slug of what was refused, or NULL */
	const char *detail;   /* its sentence, or NULL */
	const json_t *params; /* masked, or NULL */
	const char *request_id;
};

bool audit_add(struct db *db, struct arena *a, const struct audit_entry *entry,
	       struct err *e) __attribute__((warn_unused_result));

#endif
