/*
 * db_internal.h - what the files of core/db share; nobody else includes it.
 *
 * Owns: nothing. The connection belongs to struct db, results to the arena of
 * the call.
 */
#ifndef INSTANTSTART_DB_DB_INTERNAL_H
#define INSTANTSTART_DB_DB_INTERNAL_H

#include <libpq-fe.h>

#include "core/db/db.h"

/* Fills e from a failed result (NULL: the connection says why). */
bool db_fail(struct arena *a, const PGconn *conn, const PGresult *res, struct err *e);

/* Several statements without parameters, by the simple protocol. */
bool db_exec(struct db *db, struct arena *a, const char *text, struct err *e)
	__attribute__((warn_unused_result));

#endif
