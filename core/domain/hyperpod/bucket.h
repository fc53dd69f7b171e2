/*
 * bucket.h - the shared bucket and the lifecycle scripts in it.
 *
 * BUCKET_STEPS makes sagemaker-instantstart-ACCOUNT-REGION when no bucket is
 * configured (closed to the public, encrypted by S3's default), and keeps our
 * two scripts under clusters/NAME/lifecycle equal to those of this build.
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_BUCKET_H
#define INSTANTSTART_DOMAIN_HYPERPOD_BUCKET_H

#include "core/op/kind.h"

bool bucket_create_observe(struct step_ctx *c, struct exchange *x);
void bucket_create_plan(struct step_ctx *c, struct exchange *x);
void bucket_create_absorb(struct step_ctx *c, const struct answer *a);
bool bucket_tags_observe(struct step_ctx *c, struct exchange *x);
/* Builds the call that closes a bucket to the public. */
void bucket_close(struct step_ctx *c, struct exchange *x, const char *bucket);
/*
 * No object of the bucket is read or written without TLS: the policy is put where the
 * bucket has none; one that somebody has put is left alone. A bucket whose policy may
 * not be read or written is used as it is, and the events say so.
 */
bool bucket_policy_read(struct step_ctx *c, struct exchange *x, const char *bucket);
void bucket_policy_put(struct step_ctx *c, struct exchange *x, const char *bucket);
bool bucket_policy_observe(struct step_ctx *c, struct exchange *x);
void bucket_policy_plan(struct step_ctx *c, struct exchange *x);
void bucket_policy_absorb(struct step_ctx *c, const struct answer *a);
void bucket_close_plan(struct step_ctx *c, struct exchange *x);
void bucket_tag_plan(struct step_ctx *c, struct exchange *x);
void bucket_absorb(struct step_ctx *c, const struct answer *a);
bool script_observe(struct step_ctx *c, struct exchange *x);
void script_plan(struct step_ctx *c, struct exchange *x);

/* arg of the script rows */
extern const struct lifecycle_script {
	const char *name;
	const char *text;
} script_on_create, script_on_create_main;

#define SCRIPT_STEP(row, script)                                                         \
	{                                                                                \
		.name = (row), .phase = "bucket", .title = "Upload a lifecycle script",  \
		.effect = EFFECT_CONVERGENT, .observe = script_observe,                  \
		.seen = read_seen, .plan = script_plan, .absorb = bucket_absorb,         \
		.arg = (script)                                                          \
	}

#define BUCKET_STEPS                                                                     \
	{.name = "create_bucket",                                                        \
	 .phase = "bucket",                                                              \
	 .title = "Create the shared bucket",                                            \
	 .effect = EFFECT_NAMED,                                                         \
	 .sees_errors = true,                                                            \
	 .observe = bucket_create_observe,                                               \
	 .seen = read_seen,                                                              \
	 .plan = bucket_create_plan,                                                     \
	 .absorb = bucket_create_absorb},                                                \
		{.name = "close_bucket",                                                 \
		 .phase = "bucket",                                                      \
		 .title = "Block public access to the bucket",                           \
		 .effect = EFFECT_CONVERGENT,                                            \
		 .sees_errors = true,                                                    \
		 .observe = bucket_tags_observe,                                         \
		 .seen = read_seen,                                                      \
		 .plan = bucket_close_plan,                                              \
		 .absorb = bucket_absorb},                                               \
		{.name = "tag_bucket",                                                   \
		 .phase = "bucket",                                                      \
		 .title = "Tag the bucket",                                              \
		 .effect = EFFECT_CONVERGENT,                                            \
		 .sees_errors = true,                                                    \
		 .observe = bucket_tags_observe,                                         \
		 .seen = read_seen,                                                      \
		 .plan = bucket_tag_plan,                                                \
		 .absorb = bucket_absorb},                                               \
		{.name = "secure_bucket",                                                \
		 .phase = "bucket",                                                      \
		 .title = "Require TLS for the bucket",                                  \
		 .effect = EFFECT_CONVERGENT,                                            \
		 .sees_errors = true,                                                    \
		 .observe = bucket_policy_observe,                                       \
		 .seen = read_seen,                                                      \
		 .plan = bucket_policy_plan,                                             \
		 .absorb = bucket_policy_absorb},                                        \
		SCRIPT_STEP("put_on_create", &script_on_create),                         \
		SCRIPT_STEP("put_on_create_main", &script_on_create_main)

#endif
