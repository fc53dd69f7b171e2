-- What a worker says of itself.

-- $1 program, $2 worker, $3 in how many ms it will be heard of again.
-- name: heartbeat_put again
select heartbeat_put($1, $2, $3::bigint)

-- name: heartbeat_end again
select heartbeat_end($1)

-- Workers that were not heard of as they had promised: once of each.
-- name: heartbeat_lost again tells
select heartbeat_lost()
