/*
 * rpc.h - JSON-RPC envelopes of MCP, in both eras.
 *
 * modern: revision 2026-07-28, metadata on every request, no handshake.
 * legacy: 2025-11-25 and earlier, `initialize` first; no sessions here.
 * The body decides the era, before any header: a request that carries the
 * protocol version in params._meta is modern, `initialize` included.
 */
#ifndef INSTANTSTART_FCGI_RPC_H
#define INSTANTSTART_FCGI_RPC_H

#include <jansson.h>
#include <stdbool.h>

#include "fcgi/http.h"

#define RPC_MODERN "2026-07-28"
#define RPC_LEGACY "2025-11-25"
#define RPC_META   "io.modelcontextprotocol/"

/* A revision of the legacy era that is served; RPC_LEGACY is the newest of them. */
bool rpc_is_legacy(const char *version);

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_REQUEST = -32600,
	RPC_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_HEADER = -32020,
	RPC_VERSION = -32022
};

enum rpc_kind { RPC_CALL, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc {
	const struct http_req *req;
	struct http_res *res;
	enum rpc_kind kind;
	const char *id; /* JSON text, or NULL */
	const char *method;
	json_t *params; /* object, or NULL */
	bool modern;
};

/* Reads and checks the envelope. false: res holds the refusal. */
bool rpc_read(struct rpc *r, const struct http_req *req, struct http_res *res)
	__attribute__((warn_unused_result));

/* A member that is there; null and "" mean that it is not. Borrowed. */
json_t *rpc_given(const json_t *parent, const char *name);
/* The same where an object is wanted, which may come as its JSON text. */
json_t *rpc_object(const json_t *parent, const char *name, struct arena *a);

/* data is JSON text, or empty. */
void rpc_error(struct rpc *r, int status, enum rpc_code code, const char *message,
	       struct str data);
/* result is the JSON text of an object; the era's members are added. */
void rpc_result(struct rpc *r, struct str result);

#endif
