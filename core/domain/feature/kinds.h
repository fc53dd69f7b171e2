/*
 * kinds.h - the operation kinds of the managed features.
 */
#ifndef INSTANTSTART_DOMAIN_FEATURE_KINDS_H
#define INSTANTSTART_DOMAIN_FEATURE_KINDS_H

#include "core/op/kind.h"

extern const struct kind kind_update_features;
extern const struct kind kind_set_training_operator;
extern const struct kind kind_set_inference_operator;
extern const struct kind kind_set_tiered_checkpointing;

#endif
