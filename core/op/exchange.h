/*
 * exchange.h - one question to the outside, and its answer.
 *
 * Steps build exchanges and read answers; only the runner carries them out.
 */
#ifndef INSTANTSTART_OP_EXCHANGE_H
#define INSTANTSTART_OP_EXCHANGE_H

#include <jansson.h>
#include <stdbool.h>

#include "core/aws/aws.h"
#include "core/kube/helm.h"
#include "core/kube/kube.h"

enum via { VIA_NONE, VIA_AWS, VIA_KUBE, VIA_HELM };

struct exchange {
	enum via via;
	/* VIA_AWS */
	enum aws_op_id aws;
	json_t *in; /* owned by the step's arena */
	/* VIA_KUBE and VIA_HELM */
	struct kube_target target;
	struct kube_request kube;
	struct helm_request helm;
	/* Mutations: one plain sentence for plans, events and the ledger. */
	const char *what;
	/* Mutations that only clear the way: what the step sends after this one, as far
	 * as it is known: [{op, in}]; NULL: nothing. See exchange_then(). */
	json_t *then;
	/* A look that may fail: what comes of it, silence too, is an answer (step_take).
	 */
	bool may_fail;
};

struct answer {
	enum via via;
	const char *call; /* exchange_name() of what it answers */
	bool ok;
	bool may_fail; /* as the exchange */
	bool ambiguous;
	json_t *out; /* NULL when the answer is text */
	const char *text;
	int status;
	const char *code;
	const char *message;
	const char *request_id;
	const char *bucket_region; /* of S3's answers, refusals too; NULL: not said */
	enum errc errc;
};

/* Conveniences for steps. `in` may be NULL for {}. */
void exchange_aws(struct exchange *x, enum aws_op_id op, json_t *in);
void exchange_kube(struct exchange *x, const struct kube_target *t,
		   const struct kube_request *r);
void exchange_helm(struct exchange *x, const struct kube_target *t,
		   const struct helm_request *r);
void exchange_then(struct exchange *x, enum aws_op_id op, const json_t *in,
		   struct arena *a);
bool answer_is(const struct answer *a, const char *code);
/* "eks:CreateCluster", "kubernetes:apply persistentvolumes", "helm:upgrade". */
const char *exchange_name(const struct exchange *x, struct arena *a);
/* What the cloud goes on with after it has taken the call, as a sentence; NULL: the
 * answer is its end. */
const char *exchange_goes_on(const struct exchange *x);
/* Canonical tree of a request for digest, ledger and plan: secrets masked. */
json_t *exchange_tree(const struct exchange *x, struct arena *a);

#endif
