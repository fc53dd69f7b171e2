-- Principals, tokens, sessions, login links, selections. Hashes are SHA-256 hex
-- of the secret, made by the program.

-- name: principal_put again
select principal_put($1, $2, $3)

-- name: principal_count
select count(*) as n from principal

-- $1 id, $2 principal, $3 name, $4 hash, $5 role, $6 seconds it lives, $7 creator.
-- name: token_create again
select token_create($1, $2, $3, $4, $5, $6::bigint, $7)

-- name: token_check again
select principal, name, role, token_id from token_check($1)

-- name: token_revoke again
select token_revoke($1)

-- name: token_get
select json_build_object('id', id, 'name', name, 'principal', principal, 'role', role,
	'created_by', created_by, 'created_at', j_text(created_at),
	'expires_at', j_text(expires_at), 'revoked_at', j_text(revoked_at),
	'last_used_at', j_text(last_used_at))::text as doc
from token where id = $1

-- $1: id of the last one seen, or null; newest first.
-- name: token_list
with page as (
	select id, json_build_object('id', id, 'name', name, 'principal', principal,
		'role', role, 'created_by', created_by, 'created_at', j_text(created_at),
		'expires_at', j_text(expires_at), 'revoked_at', j_text(revoked_at),
		'last_used_at', j_text(last_used_at)) as doc
	from token where $1::text is null or id < $1 order by id desc limit $2::int + 1
), numbered as (
	select *, row_number() over (order by id desc) as n from page
)
select json_build_object(
	'items', coalesce(json_agg(doc order by id desc) filter (where n <= $2::int), '[]'),
	'next_cursor', (select id from numbered
		where n = $2::int and exists (select 1 from numbered where n > $2::int)))::text as doc
from numbered

-- name: session_create again
select session_create($1, $2, $3, $4::bigint)

-- name: session_check again
select principal, name, role from session_check($1)

-- name: session_end again
select session_end($1)

-- $1 hash of the session, $2 hash of the token, $3 seconds it lives at most.
-- name: session_create_by_token again
select principal, name, role from session_create_by_token($1, $2, $3::bigint)

-- name: session_end_all again
select session_end_all($1) as n

-- name: login_link_create again
select login_link_create($1, $2, $3, $4::bigint)

-- $1 hash of the link, $2 hash of the session that it opens, $3 seconds it lives.
-- name: session_create_by_link again
select principal, name, role from session_create_by_link($1, $2, $3::bigint)

-- name: selection_put again
select selection_put($1, $2)

-- name: selection_get
select cluster, json_build_object('cluster', cluster,
	'selected_at', j_text(selected_at))::text as doc
from selection where principal = $1

-- A principal that exists keeps its name and role.
-- name: principal_add again
select principal_put($1, $2, $3) where not exists (select 1 from principal where id = $1)
