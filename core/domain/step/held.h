/*
 * held.h - what keeps a Kubernetes object that is being deleted.
 *
 * A deletion ends when the last finalizer is gone; whoever set one must take it away,
 * and may be dead. Whoever waits for the end of an object says so by this text.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/
 */
#ifndef INSTANTSTART_DOMAIN_STEP_HELD_H
#define INSTANTSTART_DOMAIN_STEP_HELD_H

#include <jansson.h>

#include "core/base/arena.h"
#include "core/op/kind.h"

/* " (kept by the finalizer example.com/backup)", of a namespace what the server says of
 * its content; "" when nothing is known to keep it. Borrowed from the arena. */
const char *held_text(struct arena *a, const json_t *object);
/* Of a namespace that waits for an API that does not answer: reads who should. */
bool held_read(struct step_ctx *c, struct exchange *x, const json_t *ns);
/* What held_read() has found, in the form of held_text(); NULL: nothing. */
const char *held_by_apis(struct step_ctx *c);

#endif
