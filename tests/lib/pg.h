/*
 * pg.h - a private PostgreSQL for a test program.
 *
 * Linking this file is enough: the program's runner starts a server before the
 * first test and stops it after the last one, or when it dies. With
 * INSTANTSTART_TEST_PG=<folder> (tests/lib/pg.sh start <folder>) that server is
 * used and left alone. Programs run from the top of the tree.
 *
 * Each test asks for a database of its own: a copy of a migrated template,
 * dropped with the server. A failure aborts the test with its reason.
 */
#ifndef INSTANTSTART_TESTS_LIB_PG_H
#define INSTANTSTART_TESTS_LIB_PG_H

#include "core/base/arena.h"
#include "core/db/db.h"

/* Folder of the server's socket. */
const char *pg_dir(void);
/* Connection string of a fresh migrated database, as the owner of everything. */
const char *pg_fresh(struct arena *a);
/* Of a database with nothing in it. */
const char *pg_empty(struct arena *a);
/* The same database as another role: "instantstart_faces". */
const char *pg_as(struct arena *a, const char *url, const char *role);
/* Empties all tables of a migrated database: quicker than a fresh one. */
void pg_clear(const char *url);
/* A connection with the system's clock and randomness. */
struct db *pg_open(struct arena *a, const char *url);

/* Any statement; the text of the first column of the first row, or NULL. */
const char *pg_sql(struct arena *a, const char *url, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Stops the server hard, every connection is lost; and starts it again. */
void pg_stop(void);
void pg_start(void);
void pg_restart(void);

#endif
