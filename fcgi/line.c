#include "fcgi/line.h"

uint64_t line_key(const char *text)
{
	uint64_t h = 14695981039346656037u;

	for (; text && *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h;
}

struct count {
	int all, own, at_work;
	int64_t youngest_ms; /* how long the one that was taken last is at work */
};

static struct count count(const struct line *l, uint64_t who, int64_t now_ms)
{
	struct count n = {.youngest_ms = INT64_MAX};
	int64_t taken_ms;

	for (int i = 0; i < LINE_PLACES; i++) {
		if (atomic_load(&l->place[i].until_ms) <= now_ms)
			continue;
		n.all++;
		n.own += atomic_load(&l->place[i].who) == who;
		taken_ms = atomic_load(&l->place[i].taken_ms);
		if (!taken_ms)
			continue;
		n.at_work++;
		if (now_ms - taken_ms < n.youngest_ms)
			n.youngest_ms = now_ms - taken_ms;
	}
	return n;
}

int line_length(const struct line *l, int64_t now_ms)
{
	return count(l, 0, now_ms).all;
}

static bool occupy(struct line *l, uint64_t who, uint64_t request, int64_t now_ms)
{
	for (int i = 0; i < LINE_PLACES; i++) {
		int64_t until = atomic_load(&l->place[i].until_ms);

		if (until > now_ms ||
		    !atomic_compare_exchange_strong(&l->place[i].until_ms, &until,
						    now_ms + LINE_PLACE_MS))
			continue;
		atomic_store(&l->place[i].joined_ms, now_ms);
		atomic_store(&l->place[i].taken_ms, 0);
		atomic_store(&l->place[i].who, who);
		atomic_store(&l->place[i].request, request);
		return true;
	}
	return false;
}

/*
 * How long one takes: as lately, and longer when all workers are at work for longer
 * than that already. A cloud that falls silent is noticed before the first has ended.
 */
static int64_t served_ms(const struct line *l, const struct line_rule *r,
			 const struct count *n)
{
	const int64_t lately_ms = atomic_load(&l->served_ms);

	return n->at_work >= r->workers && n->youngest_ms > lately_ms ? n->youngest_ms
								      : lately_ms;
}

bool line_join(struct line *l, const struct line_rule *r, const char *who,
	       const char *request, int64_t now_ms, struct err *e)
{
	const uint64_t key = line_key(who);
	const struct count n = count(l, key, now_ms);
	const int64_t each_ms = served_ms(l, r, &n);
	/* Those before it that find no free worker take their time first. */
	const int64_t wait_ms =
		n.all < r->workers ? 0 : (n.all - r->workers + 1) * each_ms / r->workers;

	if (n.own >= r->per_user &&
	    (wait_ms > r->wait_ms / 2 || n.all >= LINE_PLACES / 2)) {
		err_set(e, ERR_RATE_LIMITED,
			"%d of your requests that call the cloud are already running or "
			"waiting",
			n.own);
		return err_fix(e, "Wait for their answers, then repeat this one.");
	}
	if (wait_ms > r->wait_ms || (wait_ms > 0 && wait_ms + each_ms > r->deadline_ms) ||
	    !occupy(l, key, line_key(request), now_ms)) {
		err_set(e, ERR_DEADLINE,
			"%d requests that call the cloud are already waiting, which "
			"takes about %lld s. Nothing was done",
			n.all, (long long)(wait_ms / 1000));
		return err_fix(e,
			       "Repeat the request later. The cloud answers slowly now.");
	}
	return true;
}

int64_t line_take(struct line *l, uint64_t request, int64_t now_ms)
{
	for (int i = 0; i < LINE_PLACES; i++)
		if (atomic_load(&l->place[i].request) == request &&
		    atomic_load(&l->place[i].until_ms) > now_ms) {
			atomic_store(&l->place[i].taken_ms, now_ms);
			return atomic_load(&l->place[i].joined_ms);
		}
	return now_ms;
}

void line_leave(struct line *l, uint64_t request, int64_t took_ms)
{
	const int64_t before = atomic_load(&l->served_ms);

	/* Half of the newest: a cloud that hangs is noticed at once, one that answers
	 * again as well. */
	if (took_ms != LINE_NOT_SERVED)
		atomic_store(&l->served_ms, (before + took_ms) / 2);
	for (int i = 0; i < LINE_PLACES; i++)
		if (atomic_load(&l->place[i].request) == request) {
			atomic_store(&l->place[i].request, 0);
			atomic_store(&l->place[i].until_ms, 0);
			return;
		}
}
