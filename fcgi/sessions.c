#include "fcgi/sessions.h"

#include <string.h>

struct entry {
	char hash[65]; /* never the secret itself */
	enum access_kind kind;
	char id[64];
	char name[128];
	enum role role;
	int64_t until_ms;
	uint64_t epoch;
};

struct sessions {
	struct clock *clock;
	_Atomic uint64_t *epoch;
	struct entry entries[SESSIONS_MAX];
};

struct sessions *sessions_new(struct arena *a, struct clock *clock,
			      _Atomic uint64_t *epoch)
{
	struct sessions *s = arena_new(a, struct sessions);

	s->clock = clock;
	s->epoch = epoch;
	return s;
}

void sessions_forget(struct sessions *s)
{
	atomic_fetch_add(s->epoch, 1);
}

/* A hash is as good as random: its first digits choose the place. */
static struct entry *place(struct sessions *s, const char *hash)
{
	unsigned at = 0;

	for (int i = 0; i < 4; i++)
		at = at * 31 + (unsigned char)hash[i];
	return &s->entries[at % SESSIONS_MAX];
}

bool sessions_find(struct sessions *s, struct db *db, struct arena *a, const char *secret,
		   enum access_kind kind, struct principal *ret, struct err *e)
{
	const char *hash = access_hash(secret, a);
	struct entry *en = place(s, hash);
	/* Read before the look-up: a change during it makes the entry old. */
	const uint64_t epoch = atomic_load(s->epoch);
	const int64_t now = s->clock->mono_ms(s->clock);

	if (en->kind == kind && en->epoch == epoch && now < en->until_ms &&
	    streq(en->hash, hash)) {
		*ret = (struct principal){.id = arena_strdup(a, en->id),
					  .name = arena_strdup(a, en->name),
					  .role = en->role};
		return true;
	}
	if (!access_find(db, a, secret, kind, ret, e))
		return false;
	en->until_ms = 0;
	if (!str_copy(en->hash, sizeof(en->hash), hash) ||
	    !str_copy(en->id, sizeof(en->id), ret->id) ||
	    !str_copy(en->name, sizeof(en->name), ret->name))
		return true;
	en->kind = kind;
	en->role = ret->role;
	en->epoch = epoch;
	en->until_ms = now + SESSIONS_MS;
	return true;
}
