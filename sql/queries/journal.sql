-- Calls of the journal's transitions (core/op/journal.c) and its reads.

-- name: op_submit again tells
select outcome, id, doc from op_submit($1::jsonb)

-- $3: unique to this asking, so that op_claimed finds what it was given.
-- name: op_claim once
select op_claim($1, $2::bigint, $3)::text as claim

-- name: op_claimed
select op_claimed($1)::text as claim

-- name: op_intent again
select * from op_intent($1, $2::bigint, $3, $4, $5, $6, $7, $8::jsonb)

-- name: op_settle again tells
select op_settle($1::jsonb) as state

-- name: op_cancel again tells
select op_cancel($1::jsonb) as doc

-- name: op_retry again tells
select op_retry($1::jsonb) as doc

-- name: op_answer again tells
select op_answer($1::jsonb) as doc

-- The hot read: one row by its key, JSON text ready to send.
-- name: operation_get
select doc, version from operation where id = $1

-- $1 state, $2 kind, $3 cluster: null is any. $4: id of the last one seen, or
-- null. Newest first. One row; next_cursor is null at the end.
-- name: operation_list
with page as (
	select id, doc from operation
	where ($1::text is null or state = $1) and ($2::text is null or kind = $2)
		and ($3::text is null or cluster = $3) and ($4::text is null or id < $4)
	order by id desc limit $5::int + 1
), numbered as (
	select *, row_number() over (order by id desc) as n from page
)
select '{"items": [' || coalesce(string_agg(doc, ', ' order by n)
		filter (where n <= $5::int), '') || '], "next_cursor": '
	|| coalesce((select to_json(id)::text from numbered
		where n = $5::int and exists (select 1 from numbered where n > $5::int)), 'null')
	|| '}' as doc
from numbered

-- $2: number of the last event seen, 0 at first; oldest first.
-- name: event_list
with page as (
	select seq, json_strip_nulls(json_build_object('seq', seq, 'at', j_text(at), 'what', what,
		'state', state, 'step', step, 'phase', phase, 'data', data)) as doc
	from event where op_id = $1 and seq > $2::bigint order by seq limit $3::int + 1
), numbered as (
	select *, row_number() over (order by seq) as n from page
)
select json_build_object(
	'items', coalesce(json_agg(doc order by seq) filter (where n <= $3::int), '[]'),
	'next_cursor', (select seq::text from numbered
		where n = $3::int and exists (select 1 from numbered where n > $3::int)))::text as doc
from numbered

-- name: journal_sweep again
select journal_sweep()

-- The session's clock, for tests: a timestamp or milliseconds; '' is the real one.
-- name: clock_set
select set_config('instantstart.now', $1, false)

-- What an undo of the operation would be asked of. $1 id.
-- name: operation_undo
select root_id, kind, target, input::text as input, data::text as data
from operation where id = $1 and ended_at is null
