/*
 * storage.h - names and objects of an S3 storage, pure.
 *
 * A storage is a bucket (or a prefix of it) mounted by the Mountpoint CSI
 * driver: one PersistentVolume and one claim, bound to each other by name.
 * https://github.com/awslabs/mountpoint-s3-csi-driver/blob/main/docs/CONFIGURATION.md
 */
#ifndef INSTANTSTART_DOMAIN_STORAGE_STORAGE_H
#define INSTANTSTART_DOMAIN_STORAGE_STORAGE_H

#include "core/op/kind.h"

const char *storage_name(const struct step_ctx *c); /* also the claim's name */
const char *storage_namespace(const struct step_ctx *c);
const char *storage_bucket(const struct step_ctx *c);
const char *storage_volume(const struct step_ctx *c);   /* the PV's name */
const char *storage_policy(const struct step_ctx *c);   /* inline policy's name */
const char *storage_grant_id(const struct step_ctx *c); /* of the ledger */
const char *storage_probe(const struct step_ctx *c);    /* the Job's name */

/* Complete desired objects; new trees of the arena. */
json_t *storage_volume_object(struct step_ctx *c);
json_t *storage_claim_object(struct step_ctx *c);
json_t *storage_namespace_object(struct step_ctx *c);
json_t *storage_probe_object(struct step_ctx *c);

#define STORAGE_VOLUME_TYPE "kubernetes:persistentvolume"
#define STORAGE_CLAIM_TYPE  "kubernetes:persistentvolumeclaim"
#define STORAGE_JOB_TYPE    "kubernetes:job"

/*
 * mount.c: steps of the namespace, the claim and the volume. All that may belong to
 * somebody else is asked for by the first one, before anything is made. The claim
 * comes before the volume: a claim that names a volume waits for it, and the volume
 * is reserved for the uid of that claim, so that nobody else's can ever bind to it.
 */
bool mount_check_observe(struct step_ctx *c, struct exchange *x);
void mount_check_plan(struct step_ctx *c, struct exchange *x);
bool mount_namespace_observe(struct step_ctx *c, struct exchange *x);
void mount_namespace_plan(struct step_ctx *c, struct exchange *x);
bool mount_volume_observe(struct step_ctx *c, struct exchange *x);
void mount_volume_plan(struct step_ctx *c, struct exchange *x);
void mount_volume_absorb(struct step_ctx *c, const struct answer *a);
bool mount_claim_observe(struct step_ctx *c, struct exchange *x);
void mount_claim_plan(struct step_ctx *c, struct exchange *x);
bool mount_bound_observe(struct step_ctx *c, struct exchange *x);
void mount_bound_plan(struct step_ctx *c, struct exchange *x);
void mount_absorb(struct step_ctx *c, const struct answer *a);

/* The rows that mount and prove; see probe.c. */
bool probe_observe(struct step_ctx *c, struct exchange *x);
void probe_plan(struct step_ctx *c, struct exchange *x);
void probe_absorb(struct step_ctx *c, const struct answer *a);
bool probe_wait_observe(struct step_ctx *c, struct exchange *x);
void probe_wait_plan(struct step_ctx *c, struct exchange *x);
void probe_clear_plan(struct step_ctx *c, struct exchange *x);
void probe_remove_plan(struct step_ctx *c, struct exchange *x);
void probe_remove_absorb(struct step_ctx *c, const struct answer *a);

#endif
