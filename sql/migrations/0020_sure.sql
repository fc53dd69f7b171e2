-- What a program asks twice, since nobody has told it how the first time ended, is
-- done once. The connection may break between the commit and its news: then the same
-- statement comes again, and is known by what only it has: the operation's id, a key,
-- the claim's generation, the hash of a new secret.

-- --- accepting ------------------------------------------------------------

create or replace function op_submit(s jsonb, out outcome text, out id text, out doc text)
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_same text;
	v_other text;
	o operation;
begin
	-- This very request: its operation may have ended since.
	select u.id into v_same from operation u where u.id = s->>'id';
	if found then
		outcome := 'new';
		id := v_same;
		doc := op_json(id);
		return;
	end if;
	if s->>'idem_key' is not null then
		v_same := idempotency_take(s->>'principal', s->>'idem_key', s->>'digest',
			s->>'id', v_now);
	else
		v_same := op_open_twin(s);
	end if;
	while v_same is null loop
		o := op_new(s, null, v_now);
		insert into operation select o.* on conflict (principal, kind, target, digest)
			where state in ('live', 'held') and parent_id is null and not keyed
				and not cancel_requested do nothing;
		exit when found;
		v_same := op_open_twin(s); -- the other half of a double click came first
	end loop;
	-- Its first sending was still on its way when it came the second time.
	if v_same = s->>'id' then
		outcome := 'new';
		id := v_same;
		doc := op_json(id);
		return;
	end if;
	if v_same is null then
		v_other := lock_take(o.id, o.lock_keys, (s->>'queue')::boolean, v_now);
		perform op_log(o.id, v_now, 'submitted', jsonb_build_object('principal', o.principal,
			'face', o.face, 'queued_behind', v_other), o.state, o.step, o.phase);
		if v_other is not null then
			update operation u set queued = true, due_at = v_now + interval '5 seconds',
				waiting_for = format('operation %s, which is at work on the same thing', v_other)
			where u.id = o.id;
		end if;
	end if;
	outcome := case when v_same is null then 'new' else 'same' end;
	id := coalesce(v_same, o.id);
	doc := op_json(id);
	perform audit_add(s->>'principal', s->>'face', s->>'capability', s->>'target', id,
		case when v_same is null then 'accepted' else 'same' end, null, null,
		j_some(s->'audit'), s->>'request_id');
end $$;

-- --- claiming -------------------------------------------------------------

-- What the present claim was asked by: unique to one asking.
alter table operation add column claim_ask text;

-- A claimed operation, with all that its step needs.
create function op_claim_doc(o operation, p_now timestamptz) returns jsonb
language plpgsql as $$
declare
	c operation;
	e effect;
begin
	select * into e from effect where op_id = o.id and step = o.step and outcome is null
	order by issued_at desc limit 1;
	select * into c from operation where parent_id = o.id and stage = o.step;
	return jsonb_build_object('op_id', o.id, 'gen', o.claim_gen, 'root_id', o.root_id,
		'parent_id', o.parent_id, 'kind', o.kind, 'target', o.target, 'step', o.step,
		'input', o.input, 'data', o.data, 'answer', o.answer, 'attempt', o.attempt,
		'waits', o.waits, 'cancel_requested', o.cancel_requested,
		'cancel_undo', o.cancel_undo, 'now_ms', j_ms(p_now),
		'created_ms', j_ms(o.created_at), 'step_since_ms', j_ms(o.step_since),
		'deadline_ms', j_ms(o.deadline_at), 'issued', e.op_id is not null,
		'issued_at_ms', j_ms(e.issued_at), 'issued_item', e.item,
		'issued_epoch', e.epoch, 'child_id', c.id,
		'child_state', c.state, 'child_result', c.result, 'child_error', c.error);
end $$;

-- One due operation and all that its step needs, or null. The row becomes due
-- again when the lease passes: nobody has to rescue it.
drop function op_claim(text, bigint);
create function op_claim(p_worker text, p_lease_ms bigint, p_ask text default null)
returns jsonb language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_id text;
	o operation;
begin
	loop
		select id into v_id from operation where state = 'live' and due_at <= v_now
		order by due_at, id limit 1 for update skip locked;
		if not found then
			return null;
		end if;
		exit when op_has_locks(v_id, v_now);
	end loop;
	update operation set claim_gen = claim_gen + 1, claimed_by = p_worker,
		claim_ask = p_ask, wake = false, due_at = j_after(v_now, p_lease_ms),
		step_since = coalesce(step_since, v_now)
	where id = v_id returning * into o;
	return op_claim_doc(o, v_now);
end $$;

-- What that asking was given, if its claim still stands.
create function op_claimed(p_ask text) returns jsonb
language plpgsql stable security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	o operation;
begin
	select * into o from operation
	where state = 'live' and claim_ask = p_ask and claimed_by is not null and due_at > v_now;
	if not found then
		return null;
	end if;
	return op_claim_doc(o, v_now);
end $$;

-- --- intents --------------------------------------------------------------

-- What the claim was told when it asked first: a second asking is told the same, not
-- that the request was issued before.
alter table effect add column told jsonb;

create or replace function op_intent(p_op text, p_gen bigint, p_step text, p_item text,
	p_class text, p_name text, p_digest text, p_request jsonb, out status text,
	out token text, out epoch int, out issued_at_ms bigint, out digest text,
	out response jsonb)
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	e effect;
	o operation := op_fenced(p_op, p_gen);
	v_same_token boolean;
begin
	-- The step has turned to another of its objects: a fresh look has shown that the
	-- one before needs nothing more, whatever became of the answer.
	update effect x set outcome = 'done', ended_at = v_now,
		response = '{"ok": true, "observed": true}'
		where x.op_id = p_op and x.step = p_step and x.item <> p_item
		and x.outcome is null and x.class <> 'once';
	select * into e from effect x where x.op_id = p_op and x.step = p_step
		and x.item = p_item order by x.epoch desc limit 1;
	if e.gen = p_gen and e.outcome is null and e.told is not null then
		status := e.told->>'status';
		token := e.token;
		epoch := e.epoch;
		issued_at_ms := (e.told->>'issued_at_ms')::bigint;
		digest := e.told->>'digest';
		return;
	end if;
	-- A refusal speaks for the request that it answers. When there was another with
	-- the same token, a frozen process may send that one yet: a new token would let
	-- both come true, the old one does not.
	v_same_token := e.class = 'token' and e.outcome = 'refused' and e.issues > 1
		and e.digest = p_digest;
	if e.op_id is null or (e.outcome = 'refused' and not v_same_token)
		or (e.outcome = 'done' and e.visit < o.visit
			and e.class not in ('once', 'convergent')) then
		status := 'new';
		epoch := coalesce(e.epoch, 0) + 1;
		token := effect_token(p_op, p_step, p_item, epoch);
		digest := p_digest;
		issued_at_ms := 0;
		insert into effect (op_id, step, item, epoch, class, name, token, digest, request,
			gen, visit, first_issued_at, issued_at, told)
		values (p_op, p_step, p_item, epoch, p_class, p_name, token, p_digest, p_request,
			p_gen, o.visit, v_now, v_now, jsonb_build_object('status', status,
				'issued_at_ms', issued_at_ms, 'digest', digest));
		return;
	end if;
	status := case when e.outcome is null then 'issued'
		when e.class = 'convergent' or v_same_token then 'new' else 'done' end;
	token := e.token;
	epoch := e.epoch;
	issued_at_ms := case when status = 'new' then 0 else j_ms(e.issued_at) end;
	response := case when status <> 'new' then e.response end;
	digest := case when e.class = 'convergent' then p_digest else e.digest end;
	if status <> 'done' then
		update effect x set gen = p_gen, issues = x.issues + 1, issued_at = v_now,
			digest = op_intent.digest, outcome = null, ended_at = null, response = null,
			request = case when e.class = 'convergent' then p_request else x.request end,
			told = jsonb_build_object('status', status, 'issued_at_ms', op_intent.issued_at_ms,
				'digest', op_intent.digest)
		where x.op_id = p_op and x.step = p_step and x.item = p_item and x.epoch = e.epoch;
	end if;
end $$;

-- --- settling -------------------------------------------------------------

-- IS001 when the claim has passed to another. One that this very settle has ended is
-- left as it is. Returns the state.
create or replace function op_settle(s jsonb) returns text
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	o operation;
	old operation;
begin
	perform op_lock_ancestors(s->>'op');
	select * into o from operation where id = s->>'op' for update;
	if found and o.claim_gen = (s->>'gen')::bigint and o.claimed_by is null then
		return o.state;
	end if;
	o := op_fenced(s->>'op', (s->>'gen')::bigint);
	old := o;
	o.claimed_by := null;
	o.data := coalesce(j_some(s->'data'), o.data);
	perform settle_effect(o, s, v_now);
	perform settle_lists(o, s, v_now);
	if s->>'verdict' <> 'spawn' and o.children is not null and exists (select 1 from operation
		where parent_id = o.id and stage = o.step and ended_at is null) then
		-- A retry has revived the stage since the claim, or it was looked at early.
		o := op_sleep(o);
	else
		o := settle_verdict(o, s, v_now);
	end if;
	if o.wake and o.state = 'live' then
		o.due_at := v_now;
	end if;
	o.wake := false;
	perform op_store(o);
	if o.ended_at is not null then
		perform op_ended(o, v_now);
	elsif (o.state, o.waiting_for) is distinct from (old.state, old.waiting_for) then
		perform op_tell_parent(o, v_now);
	end if;
	return o.state;
end $$;

-- As op_settle: a page whose claim this has ended is not settled twice.
alter function refresh_settle(jsonb) rename to refresh_settle_page;
create function refresh_settle(p jsonb) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	perform 1 from refresh where cluster = p->>'cluster' and gen = (p->>'gen')::bigint
		and claimed_until is null for update;
	if not found then
		perform refresh_settle_page(p);
	end if;
end $$;
revoke all on function refresh_settle_page(jsonb) from instantstart_poller;

-- --- access ---------------------------------------------------------------

create or replace function token_create(p_id text, p_principal text, p_name text, p_hash text,
	p_role text, p_ttl_s bigint, p_by text) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	if exists (select 1 from token where id = p_id and hash = p_hash) then
		return;
	end if;
	insert into token (id, principal, name, hash, role, created_by, created_at, expires_at)
	values (p_id, p_principal, p_name, p_hash, p_role, p_by, j_now(),
		j_after(j_now(), p_ttl_s * 1000))
	on conflict (hash) do nothing; -- it was still on its way
end $$;

-- IS404 when there is no such token. Revoking one that is revoked changes nothing.
create or replace function token_revoke(p_id text) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	update token set revoked_at = j_now() where id = p_id and revoked_at is null;
	if not found and not exists (select 1 from token where id = p_id) then
		perform j_refuse('IS404', 'There is no such token.',
			jsonb_build_object('field', '/id', 'seen', p_id,
				'fix', 'List the tokens to find its id.'));
	end if;
end $$;

create or replace function session_create(p_hash text, p_principal text, p_role text,
	p_ttl_s bigint)
returns void language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	insert into session values (p_hash, p_principal, p_role, j_now(),
		j_after(j_now(), p_ttl_s * 1000), j_now())
	on conflict (hash) do nothing;
end $$;

create or replace function session_create_by_token(p_hash text, p_token_hash text, p_ttl_s bigint)
returns table (principal text, name text, role text)
language sql security definer set search_path = instantstart, pg_temp as $$
	with made as (
		insert into session as s (hash, principal, role, created_at, expires_at, last_used_at,
			token)
		select p_hash, t.principal, t.role, j_now(),
			least(t.expires_at, j_after(j_now(), p_ttl_s * 1000)), j_now(), t.id
		from token t
		where t.hash = p_token_hash and t.revoked_at is null and t.expires_at > j_now()
		on conflict (hash) do update set last_used_at = excluded.last_used_at
			where s.token = excluded.token
		returning s.principal, s.role
	)
	select m.principal, p.name, m.role from made m join principal p on p.id = m.principal
$$;

create or replace function login_link_create(p_hash text, p_principal text, p_role text,
	p_ttl_s bigint)
returns void language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	insert into login_link values (p_hash, p_principal, p_role, j_now(),
		j_after(j_now(), p_ttl_s * 1000), null)
	on conflict (hash) do nothing;
end $$;

-- The session that has used it.
alter table login_link add column session text;

-- A link is used and its session opened in one: half of it would leave its holder with
-- neither. No row when the link is unknown, expired or used for another session.
create function session_create_by_link(p_link text, p_hash text, p_ttl_s bigint)
returns table (principal text, name text, role text)
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	l login_link;
begin
	update login_link k set used_at = coalesce(k.used_at, j_now()), session = p_hash
	where k.hash = p_link and k.expires_at > j_now()
		and (k.used_at is null or k.session = p_hash)
	returning k.* into l;
	if not found then
		return;
	end if;
	perform session_create(p_hash, l.principal, l.role, p_ttl_s);
	return query select l.principal, p.name, l.role from principal p where p.id = l.principal;
end $$;
drop function login_link_use(text);

grant execute on function op_claim(text, bigint, text), op_claimed(text), refresh_settle(jsonb)
	to instantstart_poller;
grant execute on function session_create_by_link(text, text, bigint) to instantstart_faces;
