/* Forward-only migrations: each is applied once, in order, and never changes. */
#include "gen/migrations.h"

#include "core/base/str.h"
#include "core/db/db_internal.h"
#include "gen/queries.h"

static bool refuse(struct err *e, const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool refuse(struct err *e, const char *fix, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(e, ERR_SCHEMA_VERSION, "%s", text);
	return err_fix(e, "%s", fix);
}

/* How many of ours are applied; what is applied must be ours, unchanged. */
static bool compare(struct db *db, struct arena *a, int *ret_applied, struct err *e)
{
	struct db_rows rows;
	int n = 0;

	if (!db_query(db, a, &Q_migration_list, NULL, 0, &rows, e))
		return false;
	for (; n < rows.n; n++) {
		const struct db_migration *m = &DB_MIGRATIONS[n];
		const char *name = db_text(&rows, n, "name");

		if (!m->name)
			return refuse(
				e, "Run the newer version of the program.",
				"The database has migration %s, which is newer than this program",
				name);
		if (db_int(&rows, n, "version") != m->version || !streq(name, m->name) ||
		    !streq(db_text(&rows, n, "sha256"), m->sha256))
			return refuse(
				e,
				"Run the version that migrated this database, or use another "
				"database.",
				"Migration %s was applied with a different text than "
				"this program's %s",
				name, m->name);
	}
	*ret_applied = n;
	return true;
}

static bool apply_missing(struct db *db, struct arena *a, struct err *e)
{
	const struct db_migration *m;
	int applied = 0;

	if (!compare(db, a, &applied, e))
		return false;
	for (m = &DB_MIGRATIONS[applied]; m->name; m++) {
		if (!db_exec(db, a, m->text, e)) {
			err_because(e, "migration", m->name, e->detail, "");
			return false;
		}
		if (!DB(db, a, &Q_migration_add, NULL, e,
			arena_printf(a, "%d", m->version), m->name, m->sha256))
			return false;
	}
	return true;
}

bool db_migrate(struct db *owner, struct arena *a, struct err *e)
{
	struct err ignored;

	if (!db_exec(owner, a, Q_migrate_roles.text, e))
		return false;
	if (db_exec(owner, a, Q_migrate_begin.text, e) && apply_missing(owner, a, e) &&
	    db_exec(owner, a, Q_migrate_commit.text, e))
		return true;
	(void)!db_exec(owner, a, Q_migrate_rollback.text, &ignored);
	return false;
}

bool db_check_schema(struct db *db, struct arena *a, struct err *e)
{
	struct db_rows rows;
	int applied = 0;

	if (!db_query(db, a, &Q_migration_table, NULL, 0, &rows, e))
		return false;
	if (!db_text(&rows, 0, "relation"))
		return refuse(e,
			      "Start a program with the owner's connection string first.",
			      "The database has no InstantStart tables");
	if (!compare(db, a, &applied, e))
		return false;
	if (DB_MIGRATIONS[applied].name)
		return refuse(
			e, "Start a program with the owner's connection string first.",
			"Migration %s is not applied yet", DB_MIGRATIONS[applied].name);
	return true;
}
