#include "core/domain/access/audit.h"

#include "core/json/tree.h"
#include "gen/queries.h"

bool audit_add(struct db *db, struct arena *a, const struct audit_entry *entry,
	       struct err *e)
{
	struct db_rows rows;

	return DB(db, a, &Q_audit_add, &rows, e, entry->principal, entry->face,
		  entry->capability, entry->target, NULL, entry->outcome, entry->code,
		  entry->detail, entry->params ? json_text(a, entry->params) : NULL,
		  entry->request_id);
}
