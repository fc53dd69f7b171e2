#include "tests/faults/stage.h"

#include "core/base/str.h"
#include "tests/faults/harness.h"

/* Every table that an operation writes to, in the order of references. */
#define TABLES                                                                           \
	"'operation', 'effect', 'event', 'lock', 'idempotency', 'resource', 'catalog', 'cluster', 'selection'"

/*
 * The functions are written out table by table, so that their plans are kept. Rows
 * are deleted: to truncate would throw away every session's plans. Only now and
 * then, for what deletes leave behind.
 */
static const char *const procedures[] = {
	"do $do$ declare t text; v_save text := ''; v_back text := ''; v_drop text := ''; begin "
	"foreach t in array array[" TABLES "] loop "
	"execute format('drop table if exists saved_%s', t); "
	"execute format('create unlogged table saved_%s (stage int, r %I)', t, t); "
	"execute format('create index on saved_%s (stage)', t); "
	"v_save := v_save || format('insert into saved_%s select p_stage::int, r from %I r; ', "
	"t, t); "
	"v_back := v_back || format('delete from %I; insert into %I select (r).* from saved_%s "
	"where stage = p_stage::int; ', t, t, t); "
	"v_drop := v_drop || format('delete from saved_%s where stage >= p_stage::int; ', t); "
	"end loop; "
	"execute format('create or replace function stage_save(p_stage text) returns void "
	"language plpgsql as $$ begin %s end $$', v_save); "
	"execute format('create or replace function stage_restore(p_stage text) returns void "
	"language plpgsql as $$ begin "
	"perform set_config(''session_replication_role'', ''replica'', true); %s end $$', "
	"v_back); "
	"execute format('create or replace function stages_drop(p_stage text) returns void "
	"language plpgsql as $$ begin %s end $$', v_drop); end $do$",
};

enum { SWEEP_EVERY = 100 };
static const char sweep_text[] =
	"truncate operation, effect, event, lock, idempotency, resource, catalog, cluster, "
	"selection";
static const char restore_text[] = "select stage_restore($1)";

void stages_init(struct harness *h)
{
	for (size_t i = 0; i < sizeof(procedures) / sizeof(*procedures); i++)
		(void)harness_query(h, procedures[i], NULL);
}

static const char *text_of(struct harness *h, int number)
{
	return arena_printf(&h->run, "%d", number);
}

void stage_forget(struct harness *h)
{
	/* No stage has the number 0. */
	(void)harness_query(h, restore_text, "0");
}

void stage_save(struct harness *h, struct stage *ret)
{
	*ret = (struct stage){
		.number = ++h->n_stages,
		.world = h->world->save(h),
		.wall = h->clock.wall,
		.mono = h->clock.mono,
		.rng = h->rng,
		.n_spots = h->n_spots,
		.n_ticks = h->n_ticks,
		.turn = h->turn,
		.retries = h->retries,
		.mutations = h->world->mutations(h),
	};
	str_copy(ret->target, sizeof(ret->target), h->target);
	str_copy(ret->op, sizeof(ret->op), h->op);
	(void)harness_query(h, "select stage_save($1)", text_of(h, ret->number));
}

void stage_restore(struct harness *h, const struct stage *s)
{
	h->clock.wall = s->wall;
	h->clock.mono = s->mono;
	h->rng = s->rng;
	h->n_spots = s->n_spots;
	h->n_ticks = s->n_ticks;
	h->turn = s->turn;
	h->retries = s->retries;
	str_copy(h->target, sizeof(h->target), s->target);
	str_copy(h->op, sizeof(h->op), s->op);
	if (++h->n_restored % SWEEP_EVERY == 0)
		(void)harness_query(h, sweep_text, NULL);
	(void)harness_query(h, restore_text, text_of(h, s->number));
	h->world->restore(h, s);
	for (int i = 0; i < INSTANCES; i++)
		h->world->forget(&h->inst[i]);
}

void stages_drop(struct harness *h, int first)
{
	(void)harness_query(h, "select stages_drop($1)", text_of(h, first));
}
