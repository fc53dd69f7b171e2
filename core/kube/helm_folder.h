/*
 * helm_folder.h - the private folder of one Helm run.
 *
 * Mode 0700, files 0600, made under the configured parent and removed with all
 * that Helm left in it when the arena is reset (arena_defer). The kubeconfig, which has
 * the bearer token, is not in it: it is memory that only Helm inherits. What a poller
 * that was killed has left is swept.
 */
#ifndef INSTANTSTART_KUBE_HELM_FOLDER_H
#define INSTANTSTART_KUBE_HELM_FOLDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/kube/helm.h"

#define HELM_FOLDER_PREFIX "instantstart-helm-"

struct helm_folder {
	const char *path;
	int kubeconfig_fd;
	const char *values; /* NULL: none given */
	/* Folder and name of the plugin that puts the mirror into what a chart
	 * renders; NULL: there is no mirror. */
	const char *plugins, *renderer;
};

bool helm_folder_make(struct arena *a, const struct helm *h, const struct kube_target *t,
		      const char *token, const struct helm_request *r,
		      struct helm_folder *ret, struct err *e)
	__attribute__((warn_unused_result));
/* Removes our folders in `parent` that nobody has changed for so long. */
void helm_folders_sweep(const char *parent, int64_t older_than_s);

#endif
