/*
 * nodes_role.h - the execution role that we make for nodes.
 *
 * Not made when the caller brings one (input.execution_role_arn) or the nodes
 * take that of a group which works already (data.model_role).
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites-iam.html
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_NODES_ROLE_H
#define INSTANTSTART_DOMAIN_HYPERPOD_NODES_ROLE_H

#include "core/domain/step/role.h"

extern const struct role_spec nodes_role;

#endif
