-- What the FastCGI program asks about itself and its neighbours.

-- How long the oldest due operation has been waiting for a poller.
-- name: journal_overdue
select coalesce(max(j_ms(j_now()) - j_ms(due_at)), 0) as ms from operation
where state = 'live' and due_at <= j_now()

-- How many workers of a program keep their word, and when one was heard of last.
-- name: heartbeat_look
select alive, last from heartbeat_look($1)

-- $1: ids with commas between them; those that exist.
-- name: operation_versions
select id, version from operation where id = any(string_to_array($1, ','))

-- What the live channel says of operations: the rest of a frame behind its number.
-- $1: ids, comma separated.
-- name: operation_news
select id, version, substr(json_build_object('t', 'operation', 'id', o.id, 'version', o.version,
	'kind', o.kind, 'state', o.state, 'status', op_status(o), 'cluster', o.cluster,
	'parent', o.parent_id)::text, 2) as rest
from operation o where id = any(string_to_array($1, ',')) order by updated_at

-- This principal has used this key, and it still counts: what it started is what a
-- repeat gets, whatever a plan would say by now.
-- name: idempotency_known
select 1 as known from idempotency
where principal = $1 and key = $2 and created_at >= j_now() - interval '30 days'
