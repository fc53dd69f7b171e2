/* What a follow tells its readers, and how it asks a cluster. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/json/tree.h"
#include "core/live/follow_call.h"
#include "gen/queries.h"

enum { BACKOFF_FIRST_MS = 500, BACKOFF_LAST_MS = 30000 };

/* --- what readers are told ------------------------------------------------------- */

/* JSON text of a cluster's or ours; quotes and controls are left out. */
static const char *plain(const char *text, char *out, size_t size)
{
	size_t n = 0;

	for (; *text && n + 1 < size; text++)
		if ((unsigned char)*text >= 0x20 && *text != '"' && *text != '\\' &&
		    (unsigned char)*text < 0x7f)
			out[n++] = *text;
	out[n] = '\0';
	return out;
}

void follow_tell(struct follow *f, const char *state, const char *why)
{
	char words[200];

	if (streq(f->told, state))
		return;
	str_copy(f->told, sizeof(f->told), state);
	feed_mark(f->feed, "state", "\"state\":\"%s\",\"why\":\"%s\"}", state,
		  plain(why, words, sizeof(words)));
	f->news(f->ctx);
}

void follow_tell_run(struct follow *f, const char *state)
{
	f->told[0] = '\0';
	feed_mark(f->feed, "state",
		  "\"state\":\"%s\",\"restarts\":%" PRId64 ",\"uid\":\"%s\"}", state,
		  f->run.restarts, f->run.uid);
	snprintf(f->feed->hello, sizeof(f->feed->hello),
		 ",\"uid\":\"%s\",\"restarts\":%" PRId64, f->run.uid, f->run.restarts);
	f->news(f->ctx);
}

void follow_loaded(struct follow *f)
{
	f->loading = false;
	follow_check_ready(f);
}

void follow_finish(struct follow *f, const char *why)
{
	char reason[POD_REASON_MAX], words[200], code[40] = "";

	follow_aligned(f);
	follow_loaded(f);
	if (f->now.exit_known)
		snprintf(code, sizeof(code), ",\"exit_code\":%" PRId64, f->now.exit_code);
	feed_mark(f->feed, "state",
		  "\"state\":\"ended\"%s,\"reason\":\"%s\",\"why\":\"%s\"}", code,
		  plain(f->now.reason, reason, sizeof(reason)),
		  plain(why, words, sizeof(words)));
	feed_close(f->feed, 1000, "the log has ended");
	f->news(f->ctx);
	follow_stop(f);
}

void follow_give_up(struct follow *f, int code, const char *why)
{
	feed_close(f->feed, code, why);
	f->news(f->ctx);
	follow_stop(f);
}

/* --- requests ---------------------------------------------------------------------- */

int64_t follow_backoff_ms(struct follow *f, int failures)
{
	int64_t ms = BACKOFF_FIRST_MS;

	for (int i = 1; i < failures && ms < BACKOFF_LAST_MS; i++)
		ms *= 2;
	if (ms > BACKOFF_LAST_MS)
		ms = BACKOFF_LAST_MS;
	return ms / 2 + (int64_t)rng_below(f->up->rng, (uint64_t)ms);
}

void follow_retry_in(struct follow *f, int64_t ms)
{
	loop_after(f->up->loop, &f->retry, ms);
}

void follow_trouble(struct follow *f, const char *why)
{
	follow_tell(f, "reconnecting", why);
	follow_retry_in(f, follow_backoff_ms(f, ++f->failures));
}

/* Where the cluster is: what the faces have learnt of it last. */
static bool find_target(struct follow *f, struct arena *a, struct kube_target *ret,
			struct err *e)
{
	struct db_rows rows;
	const json_t *cluster;
	const char *ca;

	if (!DB(f->up->db, a, &Q_cache_get, &rows, e, f->of.target))
		return false;
	if (rows.n == 0)
		return err_set(e, ERR_NOT_FOUND, "the cluster's address is not known");
	cluster =
		json_at(json_parse(a, str_of(db_text(&rows, 0, "value")), e), "cluster");
	ca = json_str_at(cluster, "certificateAuthority.data");
	*ret = (struct kube_target){.endpoint = json_str_at(cluster, "endpoint"),
				    .ca_pem =
					    ca && *ca ? base64_decode(a, ca, NULL) : NULL,
				    .cluster_name = json_str_or(cluster, "name", "")};
	return ret->endpoint ||
	       err_set(e, ERR_NOT_FOUND, "the cluster has no address yet");
}

struct net_stream *follow_send(struct follow *f, const struct kube_request *r,
			       bool (*on_data)(void *, const char *, size_t), void *ctx,
			       const struct net_events *events, struct err *e)
{
	struct kube_target target;
	struct http_request req;
	struct secret token;
	struct arena a;
	struct net_stream *s = NULL;

	err_clear(e);
	arena_init(&a, 0);
	if (find_target(f, &a, &target, e) &&
	    keyring_get(f->up->keys, target.cluster_name, &a, &token, e) ==
		    KEYRING_READY &&
	    kube_build(&target, r, token, &a, &req, e)) {
		req.on_data = on_data;
		req.on_data_ctx = ctx;
		s = net_stream_open(f->up->net, &req, events, e);
	}
	arena_free(&a);
	return s;
}

/* A token that is not taken any more: the next request makes another. */
void follow_drop_token(struct follow *f)
{
	struct kube_target target;
	struct arena a;
	struct err e;

	arena_init(&a, 0);
	if (find_target(f, &a, &target, &e))
		keyring_drop(f->up->keys, target.cluster_name);
	arena_free(&a);
}
