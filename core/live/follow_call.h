/*
 * follow_call.h - private to follow*.c: words for readers, requests to the cluster.
 */
#ifndef INSTANTSTART_LIVE_FOLLOW_CALL_H
#define INSTANTSTART_LIVE_FOLLOW_CALL_H

#include "core/live/follow.h"

/* A state frame, unless readers know it already. */
void follow_tell(struct follow *f, const char *state, const char *why);
/* "restarted" or "replaced", with what is new. */
void follow_tell_run(struct follow *f, const char *state);
/* The lines that were there already have come. */
void follow_loaded(struct follow *f);
/* The log has ended, for good. */
void follow_finish(struct follow *f, const char *why);
/* There is nothing to follow. */
void follow_give_up(struct follow *f, int code, const char *why);

int64_t follow_backoff_ms(struct follow *f, int failures);
void follow_retry_in(struct follow *f, int64_t ms);
/* The log cannot be had now: readers are told, and it is tried again. */
void follow_trouble(struct follow *f, const char *why);
/* NULL with e's code ERR_NONE: not yet, ask again in ASK_SOON_MS. */
struct net_stream *follow_send(struct follow *f, const struct kube_request *r,
			       bool (*on_data)(void *, const char *, size_t), void *ctx,
			       const struct net_events *events, struct err *e);
/* A token that is not taken any more: the next request makes another. */
void follow_drop_token(struct follow *f);

#endif
