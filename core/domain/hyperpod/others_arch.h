/*
 * others_arch.h - DaemonSets of others, on nodes of another architecture.
 *
 * They come to every node that they do not exclude. For which architecture their images
 * are made no API tells: their placement and the images' names are all there is, and the
 * rest is not known. What add-ons and our charts bring is judged in check_arch.c.
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_OTHERS_ARCH_H
#define INSTANTSTART_DOMAIN_HYPERPOD_OTHERS_ARCH_H

#include "core/op/kind.h"

/* After the read "eks". */
bool others_arch_observe(struct step_ctx *c, struct exchange *x);
/* types: the asked ones of arm64, for sentences. */
void others_arch_judge(struct step_ctx *c, const char *types);

#endif
