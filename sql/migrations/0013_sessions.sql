-- Console sessions that were opened with a token end with it; a person can end all
-- sessions of their own.

alter table session add column token text references token;

-- The session of whoever holds the token: as long as asked for, never longer than
-- the token. No row when the token is unknown, expired or revoked.
create function session_create_by_token(p_hash text, p_token_hash text, p_ttl_s bigint)
returns table (principal text, name text, role text)
language sql security definer set search_path = instantstart, pg_temp as $$
	with made as (
		insert into session (hash, principal, role, created_at, expires_at, last_used_at, token)
		select p_hash, t.principal, t.role, j_now(),
			least(t.expires_at, j_after(j_now(), p_ttl_s * 1000)), j_now(), t.id
		from token t
		where t.hash = p_token_hash and t.revoked_at is null and t.expires_at > j_now()
		returning session.principal, session.role
	)
	select m.principal, p.name, m.role from made m join principal p on p.id = m.principal
$$;

create or replace function session_check(p_hash text, out principal text, out name text, out role text)
returns setof record
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_used timestamptz;
begin
	select s.principal, p.name, s.role, s.last_used_at into principal, name, role, v_used
	from session s join principal p on p.id = s.principal left join token t on t.id = s.token
	where s.hash = p_hash and s.expires_at > v_now and t.revoked_at is null;
	if not found then
		return;
	end if;
	if v_used < v_now - interval '1 minute' then
		update session s set last_used_at = v_now where s.hash = p_hash;
	end if;
	return next;
end $$;

create function session_end_all(p_principal text) returns bigint
language sql security definer set search_path = instantstart, pg_temp as $$
	with ended as (delete from session where principal = p_principal returning 1)
	select count(*) from ended
$$;
