-- The audit trail.

-- name: audit_add once
select audit_add($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10)

-- name: audit_chain again
select audit_chain($1::int) as chained

-- name: audit_verify
select audit_verify()::text as doc

-- $1 principal, $2 capability, $3 operation: null is any. $4: id of the last one
-- seen, or null. Newest first.
-- name: audit_list
with page as (
	select id, json_strip_nulls(json_build_object('id', id, 'at', j_text(at),
		'principal', principal, 'face', face, 'capability', capability, 'target', target,
		'operation', op_id, 'outcome', outcome, 'code', code, 'detail', detail,
		'parameters', parameters, 'request_id', request_id, 'chain_no', chain_no,
		'hash', hash)) as doc
	from audit
	where ($1::text is null or principal = $1) and ($2::text is null or capability = $2)
		and ($3::text is null or op_id = $3) and ($4::bigint is null or id < $4::bigint)
	order by id desc limit $5::int + 1
), numbered as (
	select *, row_number() over (order by id desc) as n from page
)
select json_build_object(
	'items', coalesce(json_agg(doc order by id desc) filter (where n <= $5::int), '[]'),
	'next_cursor', (select id::text from numbered
		where n = $5::int and exists (select 1 from numbered where n > $5::int)))::text as doc
from numbered
