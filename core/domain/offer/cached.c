#include "core/domain/offer/cached.h"

#include "core/json/tree.h"
#include "core/op/runner.h"
#include "gen/queries.h"

const char *cached_key(struct call *c, enum aws_op_id op, const json_t *in)
{
	return arena_printf(c->arena, "%s/%s/%s/%.16s", aws_op_service(aws_op(op)),
			    aws_op_name(aws_op(op)), c->where->region,
			    json_digest(c->arena, in));
}

static bool stored(struct call *c, const char *key, json_t **ret_out, int64_t *ret_age_ms,
		   int64_t *ret_at_ms, struct err *e)
{
	struct db_rows rows;

	*ret_out = NULL;
	if (!DB(c->db, c->arena, &Q_cache_get, &rows, e, key))
		return false;
	if (rows.n == 0)
		return true;
	*ret_age_ms = db_int(&rows, 0, "age_ms");
	*ret_at_ms = db_int(&rows, 0, "fetched_ms");
	*ret_out = json_parse(c->arena, str_of(db_text(&rows, 0, "value")), e);
	return *ret_out != NULL;
}

bool cached_read(struct call *c, enum aws_op_id op, const json_t *in, int64_t max_age_s,
		 json_t **ret_out, int64_t *ret_observed_ms, struct err *e)
{
	const char *key = cached_key(c, op, in ? in : json_new_object(c->arena));
	json_t *old = NULL;
	int64_t age_ms = 0;
	struct db_rows rows;

	if (!stored(c, key, &old, &age_ms, ret_observed_ms, e))
		return false;
	if (old && age_ms < max_age_s * 1000) {
		*ret_out = old;
		return true;
	}
	if (!aws_read(c->cloud->aws, op, in ? in : json_new_object(c->arena),
		      call_read_deadline(c), c->arena, ret_out, e)) {
		*ret_out = old;
		return old != NULL;
	}
	*ret_observed_ms = c->clock->wall_ms(c->clock);
	/* A cache that cannot be written makes the next read slower, not this wrong. */
	if (!DB(c->db, c->arena, &Q_cache_put, &rows, e, key,
		json_text(c->arena, *ret_out)))
		err_clear(e);
	return true;
}
