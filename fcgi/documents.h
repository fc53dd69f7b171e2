/*
 * documents.h - texts made from the capability table, once a process.
 *
 * Made by the master before it forks, so that workers share the pages.
 */
#ifndef INSTANTSTART_FCGI_DOCUMENTS_H
#define INSTANTSTART_FCGI_DOCUMENTS_H

#include "core/base/arena.h"
#include "core/base/str.h"
#include "core/domain/capability.h"

struct documents {
	struct str openapi;
	const char *openapi_etag;
	/* One tool's JSON for each row of the table; empty for REST-only rows. */
	struct str *tool;
	const char **toolset; /* of each row, see toolset_of() */
};

const struct documents *documents_make(const struct capability *const *table,
				       struct arena *a);

/* First word of the row's path: "clusters", "operations". */
const char *toolset_of(const struct capability *cap, struct arena *a);

/* openapi.c and tools.c */
struct str openapi_text(const struct capability *const *table, struct arena *a);
struct str tool_text(const struct capability *cap, struct arena *a);

#endif
