-- What the FastCGI program asks about itself and its neighbours.

-- How long the oldest due operation has been waiting for a poller.
-- name: journal_overdue
select coalesce(max(j_ms(j_now()) - j_ms(due_at)), 0) as ms from operation
where state = 'live' and due_at <= j_now()

-- $1: ids with commas between them; those that exist.
-- name: operation_versions
select id, version from operation where id = any(string_to_array($1, ','))
