/*
 * template.h - CloudFormation templates: parsing, intrinsics, dependencies.
 *
 * A template is a JSON tree; YAML's short tags are written out ("!Ref X" is
 * {"Ref": "X"}). Values are resolved against a scope. Everything returned
 * lives in the arena.
 *
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
 */
#ifndef INSTANTSTART_TESTS_CLOUD_CFN_TEMPLATE_H
#define INSTANTSTART_TESTS_CLOUD_CFN_TEMPLATE_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/arena.h"

struct cfn_scope {
	struct arena *arena;
	const json_t *template;
	const json_t *params;     /* {name: string} */
	const json_t *conditions; /* {name: bool} */
	const json_t *resources;  /* {logical id: {"physical", "attrs"}}, or NULL */
	const char *stack_name, *stack_id, *account, *region;
	const json_t *zones; /* names, for Fn::GetAZs */
	const char *error;   /* set by what fails */
};

/* NULL: *ret_error says why, as CloudFormation does. */
/* Any mapping; aliases are refused. NULL: *ret_error says why. */
json_t *cfn_yaml_parse(struct arena *a, const char *text, const char **ret_error);
json_t *cfn_template_parse(struct arena *a, const char *text, const char **ret_error);

/* NULL: s->error. AWS::NoValue is JSON null, and left out of lists and maps. */
json_t *cfn_resolve(struct cfn_scope *s, const json_t *value);
bool cfn_resolve_condition(struct cfn_scope *s, const json_t *value, bool *ret);

/*
 * Merges given parameters with defaults, checks them, evaluates conditions and
 * rules, and finds unknown names. false: s->error. Sets params and conditions.
 */
bool cfn_template_bind(struct cfn_scope *s, const json_t *given);
/* Whether the section's member ("Resources", "Outputs") is there. */
bool cfn_included(const struct cfn_scope *s, const json_t *member);
/* Logical ids that this resource waits for. */
json_t *cfn_depends(struct cfn_scope *s, const json_t *resource);

#endif
