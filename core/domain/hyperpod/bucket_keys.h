/*
 * bucket_keys.h - whose an object in the shared bucket is, and its versions.
 *
 * A bucket may keep versions: a plain delete hides an object behind a marker, and the
 * bucket is as full as before. So what goes goes by version, markers too; without
 * versioning the one version of a key is "null".
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/DeletingObjectVersions.html
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_BUCKET_KEYS_H
#define INSTANTSTART_DOMAIN_HYPERPOD_BUCKET_KEYS_H

#include "core/op/kind.h"

/* The shared bucket is named in delete_buckets: what is nobody else's goes with it. */
bool bucket_is_given_up(const struct step_ctx *c);
/* "demo" of "clusters/demo/lifecycle/on_create.sh"; NULL: no cluster's. */
const char *bucket_key_owner(const struct step_ctx *c, const char *key);
/* Other clusters' objects never go. */
bool bucket_may_go(const struct step_ctx *c, const char *key);
/* ListObjectVersions of all that may go, from its beginning. */
json_t *bucket_list_request(const struct step_ctx *c);
/* {Key, VersionId} of a page's versions and markers that may go; of the arena. all:
 * whosever they are. */
json_t *bucket_versions(struct step_ctx *c, const json_t *page, bool all);
/* DeleteObjects of these. */
void bucket_delete_versions(struct step_ctx *c, struct exchange *x, const char *bucket,
			    json_t *versions);

#endif
