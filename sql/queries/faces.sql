-- What the FastCGI program asks about itself and its neighbours.

-- How long the oldest due operation has been waiting for a poller.
-- name: journal_overdue
select coalesce(max(j_ms(j_now()) - j_ms(due_at)), 0) as ms from operation
where state = 'live' and due_at <= j_now()
