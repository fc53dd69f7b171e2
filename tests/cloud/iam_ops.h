/* iam_ops.h - handlers and helpers that the files of IAM share. */
#ifndef INSTANTSTART_TESTS_CLOUD_IAM_OPS_H
#define INSTANTSTART_TESTS_CLOUD_IAM_OPS_H

#include "tests/cloud/core.h"
#include "tests/cloud/iam.h"

/* Sets NoSuchEntity and returns NULL when there is no role of that name. */
json_t *iam_role_named(struct cloud_call *call);
/* Adds `Tags` of the input, overwriting by key; limits and aws: are checked. */
bool iam_merge_tags(struct cloud_call *call, json_t *tags);
/* {list_member, IsTruncated, Marker} of all items. */
bool iam_answer_list(struct cloud_call *call, const char *member, json_t *items,
		     json_t **ret_out);
/* Percent-encoded, as IAM answers documents. */
json_t *iam_document(struct cloud_call *call, const char *text);
/* Malformed JSON or no Statement: MalformedPolicyDocument. */
bool iam_check_document(struct cloud_call *call, const char *text, bool trust);
const char *iam_unique_id(struct cloud_call *call, const char *prefix);
/* A copy without the members that begin with "_". */
json_t *iam_view(struct cloud_call *call, const json_t *object, json_t *drop_too);
/* "{id}" at the end of the ARN with the path: "/" + path + name. */
const char *iam_arn(struct cloud_call *call, const char *kind, const char *path,
		    const char *name);
bool iam_policy_exists(struct cloud *c, const char *arn);
void iam_count_attachment(struct cloud *c, const char *arn, int by);

cloud_handler iam_create_role, iam_get_role, iam_list_roles, iam_update_role,
	iam_delete_role, iam_update_trust, iam_tag_role, iam_untag_role,
	iam_list_role_tags, iam_put_boundary, iam_delete_boundary, iam_put_inline,
	iam_get_inline, iam_delete_inline, iam_list_inline, iam_attach, iam_detach,
	iam_list_attached, iam_create_slr, iam_delete_slr, iam_slr_deletion_status,
	iam_simulate;
cloud_handler iam_create_policy, iam_get_policy, iam_delete_policy, iam_list_policies,
	iam_create_version, iam_get_version, iam_list_versions, iam_delete_version,
	iam_list_entities;
cloud_handler iam_create_oidc, iam_get_oidc, iam_delete_oidc, iam_list_oidc,
	iam_add_oidc_client, iam_update_oidc_thumbprint;
cloud_handler iam_create_profile, iam_get_profile, iam_delete_profile, iam_add_to_profile,
	iam_remove_from_profile, iam_profiles_of_role;

#endif
