-- Who did or tried what. Append-only; hash-chained in the background, so that
-- no request waits for the one before it.

create table audit (
	id bigint generated always as identity primary key,
	at timestamptz not null,
	principal text,                 -- null: nobody we know
	face text,
	capability text,
	target text,
	op_id text,                     -- operation it started or touched
	outcome text not null,          -- accepted, same, refused, done
	code text,                      -- error code of what was refused
	detail text,                    -- its sentence
	parameters jsonb,               -- masked
	request_id text,
	chain_no bigint unique,         -- place in the chain; null: not chained yet
	hash text                       -- sha256(hash of the row before, this row)
);
create index audit_unchained on audit (id) where chain_no is null;
create index audit_operation on audit (op_id);

-- The end of the chain, so that a cut-off tail is noticed.
create table audit_head (
	one boolean primary key default true check (one),
	chain_no bigint not null,
	hash text not null
);
insert into audit_head values (true, 0, j_sha256('instantstart'));

create function audit_guard() returns trigger language plpgsql as $$
begin
	if tg_op = 'UPDATE' and old.chain_no is null
		and to_jsonb(old) - 'chain_no' - 'hash' = to_jsonb(new) - 'chain_no' - 'hash' then
		return new;
	end if;
	raise exception 'the audit trail is append-only';
end $$;
create trigger audit_guard before update or delete on audit
	for each row execute function audit_guard();

create function audit_hash(p_before text, a audit) returns text language sql stable as $$
	select j_sha256(p_before || jsonb_build_array(a.id, j_text(a.at), a.principal, a.face,
		a.capability, a.target, a.op_id, a.outcome, a.code, a.detail, a.parameters,
		a.request_id, a.chain_no)::text)
$$;

create function audit_add(p_principal text, p_face text, p_capability text, p_target text,
	p_op text, p_outcome text, p_code text, p_detail text, p_parameters jsonb,
	p_request_id text) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	insert into audit (at, principal, face, capability, target, op_id, outcome, code,
		detail, parameters, request_id)
	values (j_now(), p_principal, p_face, p_capability, p_target, p_op, p_outcome,
		p_code, p_detail, p_parameters, p_request_id);
end $$;

-- Chains what is committed and not chained yet; returns how many rows. The place
-- in the chain is given here, not by the id: a lower id may commit later.
create function audit_chain(p_limit int default 1000) returns int
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	h audit_head;
	a audit;
	v_count int := 0;
begin
	select * into h from audit_head for update skip locked;
	if not found then
		return 0; -- somebody else is at it
	end if;
	for a in select * from audit where chain_no is null order by id limit p_limit loop
		a.chain_no := h.chain_no + 1;
		h.hash := audit_hash(h.hash, a);
		h.chain_no := a.chain_no;
		update audit set chain_no = a.chain_no, hash = h.hash where id = a.id;
		v_count := v_count + 1;
	end loop;
	if v_count > 0 then
		update audit_head set chain_no = h.chain_no, hash = h.hash;
	end if;
	return v_count;
end $$;

-- {"ok", "checked", "unchained", "broken_at", "why"}: the first broken place.
create function audit_verify() returns jsonb
language plpgsql stable security definer set search_path = instantstart, pg_temp as $$
declare
	a audit;
	h audit_head;
	v_hash text := j_sha256('instantstart');
	v_no bigint := 0;
	v_why text;
begin
	select * into h from audit_head;
	for a in select * from audit where chain_no is not null order by chain_no loop
		v_no := v_no + 1;
		v_hash := audit_hash(v_hash, a);
		v_why := case
			when a.chain_no <> v_no then 'a row is missing'
			when a.hash is distinct from v_hash then 'the row or one before it was changed' end;
		exit when v_why is not null;
	end loop;
	if v_why is null and (h.chain_no <> v_no or h.hash <> v_hash) then
		v_why := 'the end of the trail is missing';
		v_no := v_no + 1;
	end if;
	return jsonb_build_object('ok', v_why is null, 'checked', v_no,
		'unchained', (select count(*) from audit where chain_no is null),
		'broken_at', case when v_why is not null then v_no end, 'why', v_why);
end $$;
