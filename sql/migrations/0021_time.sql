-- Time that nobody could use, and clocks that went back.
--
-- Blind is an operation whose last look saw nothing: no credentials, no way to AWS or
-- to the cluster's API, no poller, no database. Such time counts against no deadline,
-- and the operation says since when. After a day it counts again: everything ends.

alter table operation
	add column blind_since timestamptz, -- nothing was seen since then; null: it sees
	add column blind_ms bigint,         -- of the present step, before blind_since; null: none
	add column rush boolean;            -- a person waits, or no cloud is needed
create index operation_rush on operation (due_at, id) where state = 'live' and rush;

-- How long, of a blindness that began then.
create function op_blind_ms(p_since timestamptz, p_now timestamptz) returns bigint
language sql stable as $$
	select case when p_since is null then 0
		else least(greatest(j_ms(p_now) - j_ms(p_since), 0), 24 * 3600 * 1000) end
$$;

-- What follows from a change, whoever makes it. A new visit of a step sees; a cancel, an
-- answer, a stage's end are looked at before anything that asks the cloud.
create function op_before() returns trigger language plpgsql as $$
begin
	if new.visit <> old.visit then
		new.blind_since := null;
		new.blind_ms := 0;
	end if;
	if new.ended_at is not null then
		new.blind_since := null;
	end if;
	if new.claim_gen <> old.claim_gen then
		new.rush := false;
	elsif (new.cancel_requested and not old.cancel_requested)
		or (new.answer is not null and old.answer is null)
		or (new.wake and not old.wake)
		or (old.due_at = 'infinity' and new.due_at < 'infinity') then
		new.rush := true;
	end if;
	return new;
end $$;
create trigger op_before before update on operation
	for each row execute function op_before();

create or replace function op_shown() returns trigger language plpgsql as $$
begin
	if tg_op = 'INSERT' or (new.state, new.step, new.phase, new.phases, new.attempt,
		new.queued, new.cancel_requested, new.blind_since)
		is distinct from (old.state, old.step, old.phase, old.phases, old.attempt,
		old.queued, old.cancel_requested, old.blind_since)
		or (new.waiting_for, new.question, new.result, new.error, new.children)
		is distinct from (old.waiting_for, old.question, old.result, old.error, old.children)
		or (old.claim_gen = 0 and new.claim_gen = 1) then
		new.version := case when tg_op = 'INSERT' then 1 else old.version + 1 end;
		new.updated_at := j_now();
		new.doc := op_render(new);
		perform pg_notify('instantstart', new.id);
	elsif new.state = 'live' and new.claimed_by is null and new.due_at <= j_now() then
		perform pg_notify('instantstart', new.id);
	end if;
	return new;
end $$;

create or replace function op_render(o operation) returns text language plpgsql stable as $$
begin
	return left(json_build_object(
		'id', o.id, 'kind', o.kind, 'title', o.title, 'target', o.target,
		'cluster', o.cluster, 'state', o.state, 'status', op_status(o),
		'done', o.ended_at is not null, 'phase', o.phase, 'phases', o.phases,
		'progress', (select json_build_object(
			'done', count(*) filter (where p->>'state' in ('done', 'skipped')),
			'total', count(*)) from jsonb_array_elements(o.phases) p),
		'step', o.step, 'attempt', o.attempt,
		'cancellable', o.ended_at is null and not o.cancel_requested,
		'retryable', op_retryable(o),
		'actor', json_build_object('id', o.principal, 'name', o.actor_name),
		'face', o.face, 'created_at', j_text(o.created_at),
		'updated_at', j_text(o.updated_at), 'version', o.version,
		'links', json_build_object('self', '/api/v1/operations/' || o.id,
			'events', '/api/v1/operations/' || o.id || '/events'))::text, -1)
		|| op_member('waiting_for', to_jsonb(o.waiting_for))
		|| op_member('blind_since', to_jsonb(j_text(o.blind_since)))
		|| op_member('question', o.question)
		|| op_member('result', o.result)
		|| op_member('error', o.error)
		|| op_member('parent', to_jsonb(o.parent_id))
		|| op_member('children', o.children)
		|| op_member('ended_at', to_jsonb(j_text(o.ended_at)))
		|| op_member('next', op_next(o)) || '}';
end $$;

-- Moves the deadlines of an operation's ancestors, which wait for it.
create function op_grant_above(p_parent text, p_ms bigint) returns void
language plpgsql as $$
declare
	v_parent text := p_parent;
begin
	while v_parent is not null loop
		update operation set deadline_at = j_after(deadline_at, p_ms) where id = v_parent
		returning parent_id into v_parent;
	end loop;
end $$;

-- The claim has seen something, or nothing. Its row and its ancestors' are locked.
create function op_sight(o operation, p_blind boolean, p_why text, p_now timestamptz)
returns operation language plpgsql as $$
declare
	v_ms bigint;
begin
	if p_blind and o.blind_since is null then
		o.blind_since := p_now;
		update operation set blind_since = p_now where id = o.id;
		perform op_log(o.id, p_now, 'blind', jsonb_build_object('why', p_why));
	elsif not p_blind and o.blind_since is not null then
		v_ms := op_blind_ms(o.blind_since, p_now);
		perform op_log(o.id, p_now, 'sees', jsonb_build_object(
			'since', j_text(o.blind_since), 'blind_ms', v_ms));
		o.blind_since := null;
		o.deadline_at := j_after(o.deadline_at, v_ms);
		update operation set blind_since = null, blind_ms = coalesce(blind_ms, 0) + v_ms where id = o.id;
		perform op_grant_above(o.parent_id, v_ms);
	end if;
	return o;
end $$;

-- --- claiming -------------------------------------------------------------

create or replace function op_claim_doc(o operation, p_now timestamptz) returns jsonb
language plpgsql as $$
declare
	v_blind bigint := op_blind_ms(o.blind_since, p_now);
	c operation;
	e effect;
begin
	select * into e from effect where op_id = o.id and step = o.step and outcome is null
	order by issued_at desc limit 1;
	select * into c from operation where parent_id = o.id and stage = o.step;
	return jsonb_build_object('op_id', o.id, 'gen', o.claim_gen, 'root_id', o.root_id,
		'parent_id', o.parent_id, 'kind', o.kind, 'target', o.target, 'step', o.step,
		'input', o.input, 'data', o.data, 'answer', o.answer, 'attempt', o.attempt,
		'waits', o.waits, 'try', o.visit, 'cancel_requested', o.cancel_requested,
		'cancel_undo', o.cancel_undo, 'now_ms', j_ms(p_now),
		'created_ms', j_ms(o.created_at), 'step_since_ms', j_ms(o.step_since),
		'blind_ms', coalesce(o.blind_ms, 0) + v_blind, 'blind_since_ms', j_ms(o.blind_since),
		'deadline_ms', j_ms(o.deadline_at) + v_blind, 'issued', e.op_id is not null,
		'issued_at_ms', j_ms(e.issued_at), 'issued_item', e.item,
		'issued_epoch', e.epoch, 'child_id', c.id,
		'child_state', c.state, 'child_result', c.result, 'child_error', c.error);
end $$;

-- Due later than anything may be: the clock was ahead when that was written. What is
-- claimed keeps a whole lease, for its holder may be at a call right now.
create function op_mend_due(p_lease_ms bigint, p_now timestamptz) returns void
language plpgsql as $$
begin
	update operation set due_at = case when claimed_by is null then p_now
			else j_after(p_now, p_lease_ms) end
	where id in (select id from operation where state = 'live'
		and due_at > p_now + interval '20 minutes' and due_at < 'infinity'
		for update skip locked);
end $$;

-- Nothing that a claim counts from lies ahead of it, and what nobody could look at in
-- time has not waited meanwhile.
create function op_claim_times(o operation, p_now timestamptz) returns operation
language plpgsql as $$
declare
	v_gap bigint := case when o.due_at < 'infinity' then j_ms(p_now) - j_ms(o.due_at) end;
begin
	if o.step_since is not null and o.blind_since is null and v_gap > 10000 then
		v_gap := least(v_gap, 24 * 3600 * 1000);
		o.blind_ms := coalesce(o.blind_ms, 0) + v_gap;
		o.deadline_at := j_after(o.deadline_at, v_gap);
	end if;
	o.step_since := least(coalesce(o.step_since, p_now), p_now);
	if o.blind_since > p_now then
		o.blind_since := p_now;
	end if;
	o.deadline_at := least(o.deadline_at, j_after(p_now, o.deadline_s * 1000));
	update effect set issued_at = p_now
	where op_id = o.id and outcome is null and issued_at > p_now;
	return o;
end $$;

create or replace function op_claim(p_worker text, p_lease_ms bigint, p_ask text default null)
returns jsonb language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_id text;
	o operation;
begin
	perform op_mend_due(p_lease_ms, v_now);
	loop
		select id into v_id from operation where state = 'live' and rush and due_at <= v_now
		order by due_at, id limit 1 for update skip locked;
		if not found then
			select id into v_id from operation where state = 'live' and due_at <= v_now
			order by due_at, id limit 1 for update skip locked;
			if not found then
				return null;
			end if;
		end if;
		exit when op_has_locks(v_id, v_now);
	end loop;
	select * into o from operation where id = v_id;
	o := op_claim_times(o, v_now);
	update operation set claim_gen = claim_gen + 1, claimed_by = p_worker,
		claim_ask = p_ask, wake = false, due_at = j_after(v_now, p_lease_ms),
		step_since = o.step_since, blind_since = o.blind_since, blind_ms = o.blind_ms,
		deadline_at = o.deadline_at
	where id = v_id returning * into o;
	return op_claim_doc(o, v_now);
end $$;

-- --- settling -------------------------------------------------------------

-- s besides: blind (the look saw nothing), next.quick (needs no cloud).
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
	o := op_sight(o, coalesce((s->>'blind')::boolean, false), s#>>'{error,detail}', v_now);
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
	if o.state = 'live' and (s#>>'{next,quick}')::boolean then
		update operation set rush = true where id = o.id;
	end if;
	if o.ended_at is not null then
		perform op_ended(o, v_now);
	elsif (o.state, o.waiting_for) is distinct from (old.state, old.waiting_for) then
		perform op_tell_parent(o, v_now);
	end if;
	return o.state;
end $$;

-- --- readiness ------------------------------------------------------------

-- What a probe writes: a few rows, so that probes do not wait for each other.
create table readiness (
	slot int primary key,
	at timestamptz not null
);

create function ready_write() returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	insert into readiness values (pg_backend_pid() % 32, clock_timestamp())
	on conflict (slot) do update set at = excluded.at;
end $$;
grant execute on function ready_write() to instantstart_faces, instantstart_poller;

-- --- other clocks ---------------------------------------------------------

-- Looks at groups and nodes, as above.
alter function refresh_claim(bigint, bigint, bigint) rename to refresh_claim_page;
revoke all on function refresh_claim_page(bigint, bigint, bigint) from instantstart_poller;
create function refresh_claim(p_lease_ms bigint, p_active_ms bigint, p_gap_ms bigint)
returns jsonb language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
begin
	update refresh set due_at = least(due_at, v_now),
		started_at = case when started_at > v_now then v_now else started_at end,
		finished_at = case when finished_at > v_now then v_now else finished_at end,
		before_at = case when before_at > v_now then v_now else before_at end,
		claimed_until = case when claimed_until <= v_now + interval '20 minutes'
			then claimed_until end
	where due_at > v_now + interval '1 day'
		or claimed_until > v_now + interval '20 minutes'
		or finished_at > v_now + interval '1 minute';
	return refresh_claim_page(p_lease_ms, p_active_ms, p_gap_ms);
end $$;
grant execute on function refresh_claim(bigint, bigint, bigint) to instantstart_poller;

create or replace function cache_put(p_key text, p_value jsonb) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	insert into read_cache values (p_key, p_value, j_now())
	on conflict (key) do update set value = excluded.value, fetched_at = excluded.fetched_at
		where read_cache.fetched_at <= excluded.fetched_at
			or read_cache.fetched_at > excluded.fetched_at + interval '10 seconds';
end $$;
