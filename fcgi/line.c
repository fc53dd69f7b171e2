#include "fcgi/line.h"

uint64_t line_key(const char *text)
{
	uint64_t h = 14695981039346656037u;

	for (; text && *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h;
}

static void count(struct line *l, uint64_t who, int64_t now_ms, int *ret_all,
		  int *ret_own)
{
	*ret_all = *ret_own = 0;
	for (int i = 0; i < LINE_PLACES; i++) {
		if (atomic_load(&l->place[i].until_ms) <= now_ms)
			continue;
		++*ret_all;
		*ret_own += atomic_load(&l->place[i].who) == who;
	}
}

static bool take(struct line *l, uint64_t who, uint64_t request, int64_t now_ms)
{
	for (int i = 0; i < LINE_PLACES; i++) {
		int64_t until = atomic_load(&l->place[i].until_ms);

		if (until > now_ms ||
		    !atomic_compare_exchange_strong(&l->place[i].until_ms, &until,
						    now_ms + LINE_PLACE_MS))
			continue;
		atomic_store(&l->place[i].who, who);
		atomic_store(&l->place[i].request, request);
		return true;
	}
	return false;
}

bool line_join(struct line *l, const struct line_rule *r, const char *who,
	       const char *request, int64_t now_ms, struct err *e)
{
	const uint64_t key = line_key(who);
	int all, own;
	int64_t wait_ms;

	count(l, key, now_ms, &all, &own);
	if (own >= r->per_user) {
		err_set(e, ERR_RATE_LIMITED,
			"%d of your requests that ask the cloud are under way or waiting "
			"already",
			own);
		return err_fix(e, "Wait for their answers, then repeat this one.");
	}
	/* Those before it that find no free worker take their time first. */
	wait_ms = all < r->workers ? 0
				   : (all - r->workers + 1) * atomic_load(&l->served_ms) /
					     r->workers;
	if (wait_ms > r->deadline_ms || !take(l, key, line_key(request), now_ms)) {
		err_set(e, ERR_DEADLINE,
			"%d requests that ask the cloud wait already, which would take "
			"%lld s; nothing was done",
			all, (long long)(wait_ms / 1000));
		return err_fix(e, "Repeat it later: the cloud answers slowly now.");
	}
	return true;
}

void line_leave(struct line *l, uint64_t request, int64_t took_ms)
{
	const int64_t before = atomic_load(&l->served_ms);

	/* Half of the newest: a cloud that hangs is noticed at once, one that answers
	 * again as well. */
	atomic_store(&l->served_ms, (before + took_ms) / 2);
	for (int i = 0; i < LINE_PLACES; i++)
		if (atomic_load(&l->place[i].request) == request) {
			atomic_store(&l->place[i].request, 0);
			atomic_store(&l->place[i].until_ms, 0);
			return;
		}
}
