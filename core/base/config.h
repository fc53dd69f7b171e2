/*
 * config.h - configuration from one table.
 *
 * Environment variables INSTANTSTART_<NAME>, declared in config.def: name,
 * type, default, range, secrecy and one sentence. From the table come parsing,
 * --check, --help and the masked dump for admins. A secret may also be given
 * as INSTANTSTART_<NAME>_FILE: the file's first line. Nothing comes by argv.
 *
 * Lifetime: the strings live in the arena given to config_load (the process's).
 */
#ifndef INSTANTSTART_BASE_CONFIG_H
#define INSTANTSTART_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/secret.h"

struct config {
#define CONFIG_TEXT(field, name, dflt, doc)                const char *field;
#define CONFIG_INT(field, name, dflt, min, max, unit, doc) int64_t field;
#define CONFIG_BOOL(field, name, dflt, doc)                bool field;
#define CONFIG_SECRET(field, name, dflt, doc)              struct secret field;
#include "core/base/config.def"
#undef CONFIG_TEXT
#undef CONFIG_INT
#undef CONFIG_BOOL
#undef CONFIG_SECRET
};

/* Looks a variable up; getenv in the programs, a table in tests. */
typedef const char *config_lookup_fn(void *ctx, const char *name);

/* Every fault is reported at once, as violations. ERR_CONFIG. */
bool config_load(struct config *ret, struct arena *a, config_lookup_fn *lookup, void *ctx,
		 struct err *e) __attribute__((warn_unused_result));
const char *config_from_env(void *ctx, const char *name);

/*
 * The connection string of the owner is for migrations. A master that keeps it for its
 * next image hides its memory from other processes of its user; whoever serves forgets
 * it: in the settings, and in the environment that /proc shows.
 */
void config_guard_owner(const struct config *c);
void config_forget_owner(struct config *c);

/* Text for --help: every variable with default, range and sentence. */
void config_help(struct buf *out);
/* "NAME=value" lines; secrets read "(set)" or "(not set)". */
void config_dump(const struct config *c, struct buf *out);

#endif
