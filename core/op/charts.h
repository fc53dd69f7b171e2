/*
 * charts.h - the pinned Helm charts of this installation.
 *
 * INSTANTSTART_CHARTS names a folder with charts.json: a list of {"component",
 * "chart", "version", "digest", "definitions"}, made when the image is built. "chart"
 * is a packaged or unpacked chart in that folder; "definitions" names what the chart has
 * in crds/, each {name, digest, when}, by core/kube/charts/definitions.mjs; "when" are
 * the values that switch on the part of the chart which brings it.
 */
#ifndef INSTANTSTART_OP_CHARTS_H
#define INSTANTSTART_OP_CHARTS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/err.h"

/* The list with absolute paths, owned by a. NULL folder: NULL list. CONFIG. */
bool charts_load(const char *folder, struct arena *a, const json_t **ret, struct err *e)
	__attribute__((warn_unused_result));
/* One of the row's definitions, from its file; NULL: CONFIG. */
json_t *charts_definition(const json_t *row, const char *name, struct arena *a,
			  struct err *e) __attribute__((warn_unused_result));

#endif
