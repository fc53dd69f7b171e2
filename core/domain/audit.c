#include "core/domain/audit.h"

#include <string.h>

#include "core/base/str.h"
#include "core/json/tree.h"
#include "gen/queries.h"

enum { AUDIT_PARAMS_MAX = 16 * 1024, AUDIT_HEAD = 1024, AUDIT_TARGET = 256 };

/*
 * What was refused is kept as it was sent, by whoever may call at all: a large one
 * by its beginning only, or the trail would be filled with it.
 */
static const char *bounded(const json_t *params, struct arena *a)
{
	const char *text = json_text(a, params);
	const size_t n = strlen(text);
	char head[AUDIT_HEAD];

	if (n <= AUDIT_PARAMS_MAX)
		return text;
	str_copy(head, sizeof(head), text);
	return json_text(a, json_packf(a, "{s:I, s:s}", "bytes", (json_int_t)n,
				       "beginning", head));
}

bool audit_add(struct db *db, struct arena *a, const struct audit_entry *entry,
	       struct err *e)
{
	struct db_rows rows;
	char target[AUDIT_TARGET];

	str_copy(target, sizeof(target), entry->target);
	return DB(db, a, &Q_audit_add, &rows, e, entry->principal, entry->face,
		  entry->capability, entry->target ? target : NULL, NULL, entry->outcome,
		  entry->code, entry->detail,
		  entry->params ? bounded(entry->params, a) : NULL, entry->request_id);
}
