/*
 * mcp.h - /mcp: tools, and nothing else. No logic of its own: a tools/call is
 * the same capability_invoke() as a REST request.
 */
#ifndef INSTANTSTART_FCGI_MCP_H
#define INSTANTSTART_FCGI_MCP_H

#include "fcgi/app.h"
#include "fcgi/auth.h"
#include "fcgi/http.h"

enum { MCP_TEXT_MAX = 4096 };

void mcp_serve(struct app *app, const struct http_req *req, const struct caller *who,
	       struct http_res *res);

/* A JSON text without its members that are null, which the schemas of tools do not
 * know: many a client maps them to dialects without null. */
struct str mcp_without_nulls(struct str json, struct arena *a);

/* The text twin of a structured answer: all of it, or its first items and how to
 * get the rest, in at most MCP_TEXT_MAX bytes. */
struct str mcp_text_of(struct str json, struct arena *a);

#endif
