/*
 * helm_folder.h - the private folder of one Helm run.
 *
 * Mode 0700, files 0600, made under the configured parent and removed with all
 * that Helm left in it when the arena is reset (arena_defer).
 */
#ifndef INSTANTSTART_KUBE_HELM_FOLDER_H
#define INSTANTSTART_KUBE_HELM_FOLDER_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/kube/helm.h"

struct helm_folder {
	const char *path;
	const char *kubeconfig;
	const char *values; /* NULL: none given */
	/* Folder and name of the plugin that puts the mirror into what a chart
	 * renders; NULL: there is no mirror. */
	const char *plugins, *renderer;
};

bool helm_folder_make(struct arena *a, const struct helm *h, const struct kube_target *t,
		      const char *token, const struct helm_request *r,
		      struct helm_folder *ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
