/*
 * helm.h - Helm as an exchange of another transport.
 *
 * The binary is exec'd with an argument vector: no shell, no --wait, no hooks
 * that outlive it, dying with its poller (PR_SET_PDEATHSIG), killed at the
 * timeout. The kubeconfig (with the bearer token) goes by memory that the child
 * inherits, values by a file of mode 0600 in a private folder that is removed
 * afterwards; nothing secret is in argv. What a release has come to is observed from its
 * Secret, never from Helm's exit code alone.
 *
 * https://helm.sh/docs/helm/helm_upgrade/
 */
#ifndef INSTANTSTART_KUBE_HELM_H
#define INSTANTSTART_KUBE_HELM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/kube/kube.h"

/* HELM_TEMPLATE only renders: it asks no cluster and changes nothing. */
enum helm_verb { HELM_UPGRADE_INSTALL, HELM_UNINSTALL, HELM_ROLLBACK, HELM_TEMPLATE };

struct helm_request {
	enum helm_verb verb;
	const char *release;
	const char *ns;
	const char *chart;    /* path of a packaged or unpacked chart */
	const json_t *values; /* NULL: the chart's own */
	int64_t revision;     /* HELM_ROLLBACK; 0: the one before */
	const char *labels;   /* of the record: "a=b,c=d"; NULL: none */
	/* HELM_UPGRADE_INSTALL: objects that others have made become the release's. */
	bool take_ownership;
	const char *kube_version; /* HELM_TEMPLATE: "1.34"; NULL: Helm's own */
};

struct helm_result {
	bool ok;
	bool ambiguous; /* killed or timed out: the release Secret tells */
	int exit_code;
	const char *output; /* bounded tail of standard error */
	json_t *out;        /* HELM_TEMPLATE: manifest_objects() of what was rendered */
	enum errc errc;
};

bool helm_verb_mutates(enum helm_verb v);

struct helm {
	const char *binary;
	const char *tmp_dir; /* parent of the private folders */
	int64_t timeout_ms;
	/* What stands for every registry of a chart's images, those that a template
	 * spells out as well; NULL: they stay. See helm_mirror_check(). */
	const char *image_mirror;
	/* NULL in the programs; a test's stand-in otherwise. */
	void (*run)(struct helm *h, const struct kube_target *t, const char *token,
		    const struct helm_request *r, struct arena *a,
		    struct helm_result *ret);
};

/* "host[:port][/path]", what helm.image_mirror may be. CONFIG. */
bool helm_mirror_check(const char *mirror, struct err *e)
	__attribute__((warn_unused_result));

void helm_call(struct helm *h, struct kube *k, const struct kube_target *t,
	       const struct helm_request *r, struct arena *a, struct helm_result *ret);

/* What the newest release Secret says: "deployed", "pending-install",
 * "failed" …; NULL when the list (of Secrets with owner=helm,name=RELEASE) is
 * empty. Fills revision and the update time (label modifiedAt, epoch s). */
const char *helm_release_status(const json_t *secret_list, int64_t *ret_revision,
				int64_t *ret_modified_s);
/* The newest Secret; NULL: there is none. */
const json_t *helm_release_record(const json_t *secret_list);
/* The newest is being deleted: Helm still counts it until it is gone. */
bool helm_release_going(const json_t *secret_list);
/* The newest revision that is deployed; 0: none is. */
int64_t helm_release_deployed(const json_t *secret_list);
/* A label of the newest record; NULL when it has none. */
const char *helm_release_label(const json_t *secret_list, const char *label);
/* The label that Helm puts on every object of every release; which release it is of say
 * two annotations. */
#define HELM_MANAGED "app.kubernetes.io/managed-by=Helm"
bool helm_owns(const json_t *object, const char *release, const char *ns);
/* "ns/release" of an object that Helm has marked; NULL: it has not. */
const char *helm_owner(const json_t *object, struct arena *a);
/* Chart version inside the newest release (gzip+base64 payload), or NULL. */
const char *helm_release_chart_version(const json_t *secret_list, struct arena *a);

#endif
