-- Who may use the program: principals, tokens, console sessions, login links.
-- Secrets are never stored, only their SHA-256 (made by the program).

create table principal (
	id text primary key,
	name text not null,
	role text not null check (role in ('viewer', 'operator', 'admin')),
	created_at timestamptz not null
);

create table token (
	id text primary key,
	principal text not null references principal,
	name text not null,             -- what it is for, in the owner's words
	hash text not null unique,
	role text not null check (role in ('viewer', 'operator', 'admin')),
	created_by text,
	created_at timestamptz not null,
	expires_at timestamptz not null,
	revoked_at timestamptz,
	last_used_at timestamptz        -- to the minute
);

-- The console's cookie.
create table session (
	hash text primary key,
	principal text not null references principal,
	role text not null check (role in ('viewer', 'operator', 'admin')),
	created_at timestamptz not null,
	expires_at timestamptz not null,
	last_used_at timestamptz not null
);

-- Printed at first start or by the host command; good for one login.
create table login_link (
	hash text primary key,
	principal text not null references principal,
	role text not null check (role in ('viewer', 'operator', 'admin')),
	created_at timestamptz not null,
	expires_at timestamptz not null,
	used_at timestamptz
);

-- The cluster a principal works on when it names none.
create table selection (
	principal text primary key,
	cluster text not null,
	selected_at timestamptz not null
);

create function principal_put(p_id text, p_name text, p_role text) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	insert into principal values (p_id, p_name, p_role, j_now())
	on conflict (id) do update set name = excluded.name, role = excluded.role
		where (principal.name, principal.role) <> (excluded.name, excluded.role);
end $$;

create function token_create(p_id text, p_principal text, p_name text, p_hash text,
	p_role text, p_ttl_s bigint, p_by text) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	insert into token (id, principal, name, hash, role, created_by, created_at, expires_at)
	values (p_id, p_principal, p_name, p_hash, p_role, p_by, j_now(),
		j_after(j_now(), p_ttl_s * 1000));
end $$;

-- IS404 when there is no such token that is not revoked.
create function token_revoke(p_id text) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	update token set revoked_at = j_now() where id = p_id and revoked_at is null;
	if not found then
		perform j_refuse('IS404', 'There is no such token, or it is revoked already.',
			jsonb_build_object('field', '/id', 'seen', p_id));
	end if;
end $$;

-- Whose token it is; no row when unknown, expired or revoked. The time of use is
-- written once a minute, so that most requests write nothing.
create function token_check(p_hash text, out principal text, out name text, out role text,
	out token_id text) returns setof record
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_used timestamptz;
begin
	select t.principal, p.name, t.role, t.id, t.last_used_at
	into principal, name, role, token_id, v_used
	from token t join principal p on p.id = t.principal
	where t.hash = p_hash and t.revoked_at is null and t.expires_at > v_now;
	if not found then
		return;
	end if;
	if v_used is null or v_used < v_now - interval '1 minute' then
		update token t set last_used_at = v_now where t.id = token_id;
	end if;
	return next;
end $$;

create function session_create(p_hash text, p_principal text, p_role text, p_ttl_s bigint)
returns void language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	insert into session values (p_hash, p_principal, p_role, j_now(),
		j_after(j_now(), p_ttl_s * 1000), j_now());
end $$;

create function session_end(p_hash text) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	delete from session where hash = p_hash;
end $$;

create function session_check(p_hash text, out principal text, out name text, out role text)
returns setof record
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_used timestamptz;
begin
	select s.principal, p.name, s.role, s.last_used_at into principal, name, role, v_used
	from session s join principal p on p.id = s.principal
	where s.hash = p_hash and s.expires_at > v_now;
	if not found then
		return;
	end if;
	if v_used < v_now - interval '1 minute' then
		update session s set last_used_at = v_now where s.hash = p_hash;
	end if;
	return next;
end $$;

create function login_link_create(p_hash text, p_principal text, p_role text, p_ttl_s bigint)
returns void language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	insert into login_link values (p_hash, p_principal, p_role, j_now(),
		j_after(j_now(), p_ttl_s * 1000), null);
end $$;

-- Whose link it was; no row when unknown, expired or used. Two at once: one wins.
create function login_link_use(p_hash text)
returns table (principal text, name text, role text)
language sql security definer set search_path = instantstart, pg_temp as $$
	with used as (
		update login_link set used_at = j_now()
		where hash = p_hash and used_at is null and expires_at > j_now()
		returning login_link.principal, login_link.role
	)
	select u.principal, p.name, u.role from used u join principal p on p.id = u.principal
$$;

create function selection_put(p_principal text, p_cluster text) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	if not exists (select 1 from catalog where kind = 'cluster' and name = p_cluster)
		and not exists (select 1 from cluster where name = p_cluster) then
		perform j_refuse('IS404', format('There is no cluster %s.', p_cluster),
			jsonb_build_object('field', '/cluster', 'seen', p_cluster,
				'fix', 'List the clusters; create or import it first.'));
	end if;
	insert into selection values (p_principal, p_cluster, j_now())
	on conflict (principal) do update set cluster = excluded.cluster,
		selected_at = excluded.selected_at;
end $$;
