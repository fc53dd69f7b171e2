/* handlers.h - what the files of CloudFormation's operations share. */
#ifndef INSTANTSTART_TESTS_CLOUD_CFN_HANDLERS_H
#define INSTANTSTART_TESTS_CLOUD_CFN_HANDLERS_H

#include "tests/cloud/cloudformation/stack.h"

bool cfn_is_deleted(const json_t *stack);
/* By id, deleted ones too; by name only those that live. */
json_t *cfn_find_stack(struct cloud *c, const char *name);
/* NULL: the fault is set. */
json_t *cfn_need_stack(struct cloud_call *c, const char *name);
struct cfn_work cfn_work_on(struct cloud_call *c, json_t *stack);
/* The id of the stack that this very request made; NULL: not seen. */
const char *cfn_token_replay(struct cloud_call *c, bool *ret_conflict);
void cfn_token_keep(struct cloud_call *c, json_t *stack);

/* accept.c, read.c */
cloud_handler cfn_create_stack, cfn_update_stack;
cloud_handler cfn_describe_stacks, cfn_list_stacks, cfn_describe_events,
	cfn_list_resources, cfn_describe_resources, cfn_get_template;

#endif
