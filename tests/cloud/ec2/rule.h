/* rule.h - rules of security groups: one object for each source or target. */
#ifndef INSTANTSTART_TESTS_CLOUD_EC2_RULE_H
#define INSTANTSTART_TESTS_CLOUD_EC2_RULE_H

#include "tests/cloud/ec2/ops.h"

/* Everything from or to that group. */
json_t *rule_to_group(struct cloud *c, struct arena *a, const char *group_id);
/* `body` holds protocol, ports and the other side; returns the new rule. */
json_t *rule_add(struct cloud *c, struct arena *a, const char *group_id, bool egress,
		 json_t *body);
/* Adds the rule to a list of IpPermissions, joining equal ports. */
void rule_fold(struct cloud *c, json_t *list, const json_t *rule);

#endif
