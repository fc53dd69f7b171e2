/*
 * model.h - the published API models, pruned by models/prune.mjs.
 *
 * The file keeps botocore's format (service-2.json without documentation):
 * {service: {metadata, operations, shapes}}. A "reference" is what stands in
 * a structure's members: {"shape": NAME, "locationName": …, "location": …}.
 *
 * Ownership: the tree and compiled patterns live in the arena of model_load().
 */
#ifndef INSTANTSTART_TESTS_CLOUD_MODEL_H
#define INSTANTSTART_TESTS_CLOUD_MODEL_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/err.h"

enum protocol { PROTO_JSON, PROTO_REST_JSON, PROTO_QUERY, PROTO_EC2, PROTO_REST_XML };

enum shape_type {
	SHAPE_STRUCTURE,
	SHAPE_LIST,
	SHAPE_MAP,
	SHAPE_STRING,
	SHAPE_INTEGER, /* and long */
	SHAPE_FLOAT,   /* and double */
	SHAPE_BOOLEAN,
	SHAPE_TIMESTAMP,
	SHAPE_BLOB
};

struct model;

struct model_op {
	struct model *model;
	const char *service; /* "eks" */
	const char *name;    /* "CreateCluster" */
	enum protocol protocol;
	const json_t *metadata;
	const json_t *shapes;
	const json_t *def;
	const char *in, *out; /* shape names; NULL: none */
};

struct model *model_load(struct arena *a, const char *path, struct err *e)
	__attribute__((warn_unused_result));
/* NULL when the file has no such service. */
const json_t *model_service(const struct model *m, const char *service);
/* The service whose signing name or endpoint prefix this is; NULL: none. */
const char *model_service_of(const struct model *m, const char *signing_name);
const char *model_signing_name(const json_t *service);
bool model_find(struct model *m, const char *service, const char *op,
		struct model_op *ret);

const json_t *model_shape(const struct model_op *op, const char *name);
const json_t *model_ref_shape(const struct model_op *op, const json_t *ref);
enum shape_type model_type(const json_t *shape);
/* "iso8601", "unixTimestamp", "rfc822", or NULL. */
const char *model_time_format(const struct model_op *op, const json_t *ref);
/* Whole-string match. A pattern that PCRE2 does not take matches everything. */
bool model_pattern_matches(struct model *m, const char *pattern, const char *text);
/* Name of the member that carries the client's token, or NULL. */
const char *model_token_member(const struct model_op *op);

/* String member of a definition, or NULL. */
const char *model_str(const json_t *def, const char *key);
bool model_flag(const json_t *def, const char *key);

#endif
