-- The same transitions in fewer and smaller statements. What a statement costs is mostly
-- its beginning: so what needs no table is an expression, a row is read once and written
-- once, and what is mostly not the case is asked before it is done.

-- --- what faces show ------------------------------------------------------

create or replace function op_phase(p_phases jsonb, p_name text, p_state text,
	p_now timestamptz) returns jsonb language plpgsql stable as $$
declare
	p jsonb;
begin
	for n in 0 .. coalesce(jsonb_array_length(p_phases), 0) - 1 loop
		p := p_phases->n;
		continue when p->>'name' is distinct from p_name;
		if p_state in ('running', 'held') then
			p := p - 'ended_at' || jsonb_build_object('state', p_state,
				'started_at', coalesce(p->>'started_at', j_text(p_now)));
		else
			p := p || jsonb_build_object('state', p_state, 'ended_at', j_text(p_now));
		end if;
		p_phases := jsonb_set(p_phases, array[n::text], p);
	end loop;
	return coalesce(p_phases, '[]');
end $$;

-- A member of a JSON object, or nothing.
drop function op_member(text, jsonb);
create function op_member(p_name text, p text) returns text language plpgsql immutable as $$
begin
	return case when p is null or p = 'null' then '' else ', "' || p_name || '": ' || p end;
end $$;

-- What an agent should call next, as JSON.
drop function op_next(operation);
create function op_next(p_id text, p_state text) returns text language plpgsql immutable as $$
begin
	case p_state
	when 'held' then
		return '{"tool": "answer_operation", "arguments": {"id": ' || to_json(p_id) || '}, "why": '
			'"A person must choose; the choices and their consequences are in question."}';
	when 'live' then
		return '{"tool": "get_operation", "arguments": {"id": ' || to_json(p_id)
			|| ', "wait_seconds": 25}, "why": "It is not finished; done tells when it is."}';
	when 'failed' then
		return '{"tool": "retry_operation", "arguments": {"id": ' || to_json(p_id) || '}, "why": '
			'"It goes on at the failed step once error.fix is done."}';
	else
		return null;
	end case;
end $$;

create or replace function op_render(o operation) returns text language plpgsql stable as $$
declare
	v_more text := '';
begin
	-- Mostly all of these are absent, or the first one only.
	if o.waiting_for is not null then
		v_more := ', "waiting_for": ' || to_json(o.waiting_for);
	end if;
	if o.blind_since is not null then
		v_more := concat(v_more, ', "blind_since": "', j_text(o.blind_since), '"');
	end if;
	if o.question is not null or o.result is not null or o.error is not null then
		v_more := concat(v_more, op_member('question', o.question::text),
			op_member('result', o.result::text), op_member('error', o.error::text));
	end if;
	if o.parent_id is not null then
		v_more := concat(v_more, ', "parent": ', to_json(o.parent_id));
	end if;
	if o.children is not null then
		v_more := concat(v_more, op_member('children', o.children::text));
	end if;
	if o.ended_at is not null then
		v_more := concat(v_more, ', "ended_at": "', j_text(o.ended_at), '"');
	end if;
	return concat('{"id": ', to_json(o.id), ', "kind": ', to_json(o.kind),
		', "title": ', to_json(o.title), ', "target": ', to_json(o.target),
		', "cluster": ', to_json(o.cluster), ', "state": "', o.state,
		'", "status": "', op_status(o),
		'", "done": ', case when o.ended_at is null then 'false' else 'true' end,
		', "phase": ', to_json(o.phase), ', "phases": ', o.phases,
		', "progress": {"done": ', jsonb_array_length(jsonb_path_query_array(o.phases,
			'$[*] ? (@.state == "done" || @.state == "skipped")')),
		', "total": ', jsonb_array_length(o.phases),
		'}, "step": ', to_json(o.step), ', "attempt": ', o.attempt,
		', "cancellable": ', case when o.ended_at is null and not o.cancel_requested
			then 'true' else 'false' end,
		', "retryable": ', case when op_retryable(o) then 'true' else 'false' end,
		', "actor": {"id": ', to_json(o.principal), ', "name": ', to_json(o.actor_name),
		'}, "face": ', to_json(o.face), ', "created_at": "', j_text(o.created_at),
		'", "updated_at": "', j_text(o.updated_at), '", "version": ', o.version,
		', "links": {"self": ', to_json('/api/v1/operations/' || o.id),
		', "events": ', to_json('/api/v1/operations/' || o.id || '/events'), '}',
		v_more, op_member('next', op_next(o.id, o.state)), '}');
end $$;

-- --- one trigger for what follows from a change -----------------------------

drop trigger op_before on operation;
drop function op_before();

create or replace function op_shown() returns trigger language plpgsql as $$
declare
	v_now timestamptz := j_now();
begin
	if tg_op = 'UPDATE' then
		-- A new visit of a step sees.
		if new.visit <> old.visit then
			new.blind_since := null;
			new.blind_ms := 0;
		end if;
		if new.ended_at is not null then
			new.blind_since := null;
		end if;
		-- A cancel, an answer, a stage's end are looked at before anything that asks
		-- the cloud.
		if new.claim_gen = old.claim_gen and ((new.cancel_requested and not old.cancel_requested)
			or (new.answer is not null and old.answer is null)
			or (new.wake and not old.wake)
			or (old.due_at = 'infinity' and new.due_at < 'infinity')) then
			new.rush := true;
		end if;
	end if;
	if tg_op = 'INSERT' or (new.state, new.step, new.phase, new.phases, new.attempt,
		new.queued, new.cancel_requested, new.blind_since)
		is distinct from (old.state, old.step, old.phase, old.phases, old.attempt,
		old.queued, old.cancel_requested, old.blind_since)
		or (new.waiting_for, new.question, new.result, new.error, new.children)
		is distinct from (old.waiting_for, old.question, old.result, old.error, old.children)
		or (old.claim_gen = 0 and new.claim_gen = 1) then
		new.version := case when tg_op = 'INSERT' then 1 else old.version + 1 end;
		new.updated_at := v_now;
		new.doc := op_render(new);
		perform tell('instantstart', new.id);
	end if;
	if new.state = 'live' and new.claimed_by is null and new.due_at <= v_now then
		perform tell('instantstart_due', 'operation');
	end if;
	return new;
end $$;

create or replace function op_store(o operation) returns void language plpgsql as $$
begin
	update operation set state = o.state, step = o.step, phase = o.phase,
		phases = o.phases, data = o.data, attempt = o.attempt, waits = o.waits,
		step_since = o.step_since, visit = o.visit, waiting_for = o.waiting_for,
		resume_step = o.resume_step, resume_phase = o.resume_phase, due_at = o.due_at,
		claimed_by = o.claimed_by, wake = o.wake, queued = o.queued,
		cancel_requested = o.cancel_requested, cancel_undo = o.cancel_undo,
		question = o.question, answer = o.answer, held_at = o.held_at,
		deadline_at = o.deadline_at, children = o.children, result = o.result,
		error = o.error, ended_at = o.ended_at, rush = operation.rush or o.rush
	where id = o.id;
end $$;

-- --- accepting --------------------------------------------------------------

create or replace function op_new(s jsonb, p_parent operation, p_now timestamptz)
returns operation language plpgsql as $$
declare
	o operation;
	p jsonb;
begin
	o.id := s->>'id';
	o.kind := s->>'kind';
	o.title := coalesce(s->>'title', o.kind);
	o.target := s->>'target';
	o.cluster := coalesce(s#>>'{input,cluster}', split_part(o.target, '/', 1));
	o.input := s->'input';
	o.digest := s->>'digest';
	o.principal := coalesce(p_parent.principal, s->>'principal');
	o.actor_name := p_parent.actor_name;
	if o.actor_name is null then
		o.actor_name := coalesce((select name from principal where id = o.principal), o.principal);
	end if;
	o.face := coalesce(p_parent.face, s->>'face');
	o.capability := s->>'capability';
	o.keyed := s->>'idem_key' is not null;
	o.plan_digest := s->>'plan_digest';
	o.traceparent := coalesce(p_parent.traceparent, s->>'traceparent');
	o.parent_id := p_parent.id;
	o.root_id := coalesce(p_parent.root_id, o.id);
	o.undo := false;
	o.state := 'live';
	o.visit := 0;
	o.step := s->>'step';
	o.phase := s->>'phase';
	o.phases := '[]';
	for n in 0 .. coalesce(jsonb_array_length(s->'phases'), 0) - 1 loop
		p := s->'phases'->n;
		o.phases := o.phases || jsonb_build_array(p || case when p->>'name' = o.phase
			then jsonb_build_object('state', 'running', 'started_at', j_text(p_now))
			else '{"state": "pending"}' end);
	end loop;
	o.data := '{}';
	o.attempt := 0;
	o.waits := 0;
	o.due_at := p_now;
	o.claim_gen := 0;
	o.wake := false;
	o.queued := false;
	o.cancel_requested := false;
	o.cancel_undo := false;
	o.deadline_s := (s->>'deadline_s')::bigint;
	o.deadline_at := j_after(p_now, o.deadline_s * 1000);
	o.lock_keys := '{}';
	if jsonb_array_length(coalesce(j_some(s->'locks'), '[]')) > 0 then
		select array_agg(distinct k order by k) into o.lock_keys
		from jsonb_array_elements_text(s->'locks') k;
	end if;
	o.created_at := p_now;
	o.updated_at := p_now;
	o.version := 0;
	o.doc := '';
	return o;
end $$;

create or replace function op_submit(s jsonb, out outcome text, out id text, out doc text)
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_same text;
	v_other text;
	o operation;
begin
	-- This very request: its operation may have ended since.
	select u.id, u.doc into v_same, doc from operation u where u.id = s->>'id';
	if found then
		outcome := 'new';
		id := v_same;
		return;
	end if;
	if s->>'idem_key' is not null then
		v_same := idempotency_take(s->>'principal', s->>'idem_key', s->>'digest',
			s->>'id', v_now);
	else
		v_same := op_open_twin(s);
	end if;
	if v_same is null then
		o := op_new(s, null, v_now);
	end if;
	while v_same is null loop
		insert into operation as u select o.* on conflict (principal, kind, target, digest)
			where state in ('live', 'held') and parent_id is null and not keyed
				and not cancel_requested do nothing
			returning u.doc into doc;
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
	id := coalesce(v_same, o.id);
	if v_same is null then
		outcome := 'new';
		if o.lock_keys <> '{}' then
			v_other := lock_take(o.id, o.lock_keys, (s->>'queue')::boolean, v_now);
		end if;
		-- The first of its events.
		insert into event (op_id, seq, at, what, state, step, phase, data)
		values (o.id, 1, v_now, 'submitted', o.state, o.step, o.phase, jsonb_build_object(
			'principal', o.principal, 'face', o.face, 'queued_behind', v_other));
		if v_other is not null then
			update operation u set queued = true, due_at = v_now + interval '5 seconds',
				waiting_for = format('operation %s, which is at work on the same thing', v_other)
			where u.id = o.id returning u.doc into doc;
		end if;
	else
		outcome := 'same';
		doc := op_json(id);
	end if;
	insert into audit (at, principal, face, capability, target, op_id, outcome, parameters,
		request_id)
	values (v_now, s->>'principal', s->>'face', s->>'capability', s->>'target', id,
		case when v_same is null then 'accepted' else 'same' end, j_some(s->'audit'),
		s->>'request_id');
end $$;

-- --- claiming ---------------------------------------------------------------

-- As it was, in a language that keeps its plan.
create or replace function op_ledger(p_cluster text, p_now timestamptz) returns jsonb
language plpgsql stable as $$
begin
	return (select coalesce(jsonb_agg(jsonb_build_object('type', type, 'id', id,
			'state', state, 'made_ms', least(j_ms(made_at), j_ms(p_now)))
			order by seq desc), '[]')
		from resource where cluster = p_cluster and state <> 'gone'
			and type !~ '^(kubernetes|helm):' and type <> 's3:object'
			-- VISIBILITY_MS is ten minutes at most.
			and (made_at > p_now - interval '10 minutes' or type in ('ec2:subnet',
				'ec2:vpc-cidr', 'cloudformation:stack', 'sagemaker:cluster',
				'iam:oidc-provider')));
end $$;

create or replace function op_claim_doc(o operation, p_now timestamptz) returns jsonb
language plpgsql as $$
declare
	v_blind bigint := op_blind_ms(o.blind_since, p_now);
	c operation;
	e effect;
begin
	select * into e from effect where op_id = o.id and step = o.step and outcome is null
	order by issued_at desc limit 1;
	if o.children is not null then
		select * into c from operation where parent_id = o.id and stage = o.step;
	end if;
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
		'child_state', c.state, 'child_result', c.result, 'child_error', c.error,
		'ledger', op_ledger(o.cluster, p_now),
		-- Something is kept for others: tell_now().
		'tells', coalesce(current_setting('instantstart.told', true), '') <> '');
end $$;

drop function op_claim_times(operation, timestamptz);

-- Nothing that a claim counts from lies ahead of it, and what nobody could look at in
-- time has not waited meanwhile: both is in the one update that claims.
create or replace function op_claim(p_worker text, p_lease_ms bigint, p_ask text default null)
returns jsonb language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_id text;
	v_queued boolean;
	v_gap bigint;
	o operation;
begin
	if exists (select 1 from operation where state = 'live'
		and due_at > v_now + interval '20 minutes' and due_at < 'infinity') then
		perform op_mend_due(p_lease_ms, v_now);
	end if;
	loop
		select id, queued, case when step_since is not null and blind_since is null
			and due_at < v_now - interval '10 seconds'
			then least(j_ms(v_now) - j_ms(due_at), 24 * 3600 * 1000) else 0 end
		into v_id, v_queued, v_gap
		from operation where state = 'live' and rush and due_at <= v_now
		order by due_at, id limit 1 for update skip locked;
		if not found then
			select id, queued, case when step_since is not null and blind_since is null
				and due_at < v_now - interval '10 seconds'
				then least(j_ms(v_now) - j_ms(due_at), 24 * 3600 * 1000) else 0 end
			into v_id, v_queued, v_gap
			from operation where state = 'live' and due_at <= v_now
			order by due_at, id limit 1 for update skip locked;
			if not found then
				return null;
			end if;
		end if;
		exit when not v_queued;
		v_gap := 0; -- its turn has only just come
		exit when op_has_locks(v_id, v_now);
	end loop;
	update operation set claim_gen = claim_gen + 1, claimed_by = p_worker,
		claim_ask = p_ask, wake = false, rush = false, due_at = j_after(v_now, p_lease_ms),
		step_since = least(coalesce(step_since, v_now), v_now),
		blind_since = case when blind_since > v_now then v_now else blind_since end,
		blind_ms = case when v_gap > 0 then coalesce(blind_ms, 0) + v_gap else blind_ms end,
		deadline_at = least(j_after(deadline_at, v_gap), j_after(v_now, deadline_s * 1000))
	where id = v_id returning * into o;
	-- Of a clock that was ahead.
	if exists (select 1 from effect where op_id = v_id and outcome is null
		and issued_at > v_now) then
		update effect set issued_at = v_now
		where op_id = v_id and outcome is null and issued_at > v_now;
	end if;
	return op_claim_doc(o, v_now);
end $$;

-- --- settling ---------------------------------------------------------------

create or replace function op_goto(o operation, p_step text, p_phase text, p_title text,
	p_now timestamptz) returns operation language plpgsql as $$
begin
	if p_phase <> o.phase then
		o.phases := op_phase(o.phases, o.phase, 'done', p_now);
		if not o.phases @> jsonb_build_array(jsonb_build_object('name', p_phase)) then
			o.phases := o.phases || jsonb_build_array(jsonb_build_object('name', p_phase,
				'title', coalesce(p_title, p_phase), 'state', 'pending'));
		end if;
		o.phases := op_phase(o.phases, p_phase, 'running', p_now);
		o.phase := p_phase;
	end if;
	o.step := p_step;
	o.attempt := 0;
	o.waits := 0;
	o.step_since := null;
	o.visit := o.visit + 1;
	o.waiting_for := null;
	o.answer := null;
	o.due_at := p_now;
	perform op_log(o.id, p_now, 'step', '{}', o.state, o.step, o.phase);
	return o;
end $$;

-- The ledger's outcome, and the call's line in the timeline.
drop function settle_effect(operation, jsonb, timestamptz);
create function settle_effect(p_op text, s jsonb, p_now timestamptz) returns void
language plpgsql as $$
declare
	f jsonb := s->'effect';
	v_outcome text := f->>'outcome';
	e record;
begin
	update effect set
		outcome = nullif(v_outcome, 'unknown'),
		ended_at = case when v_outcome <> 'unknown' then p_now end,
		response = j_some(f->'response'),
		request_id = f->>'request_id'
	where op_id = p_op and step = s->>'step' and item = coalesce(f->>'item', '')
		and epoch = (f->>'epoch')::int
	returning name, item, issued_at, request_id into e;
	if not found then
		raise exception 'no intent of %/% is stored', p_op, s->>'step';
	end if;
	perform op_log(p_op, p_now, 'call', jsonb_build_object('call', coalesce(f->>'call', e.name),
		'step', s->>'step', 'item', e.item, 'outcome', v_outcome, 'request_id', e.request_id,
		'duration_ms', j_ms(p_now) - j_ms(e.issued_at)));
end $$;

create or replace function op_settle(s jsonb) returns text
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_id text := s->>'op';
	v_now timestamptz := j_now();
	v_parent text;
	v_blind boolean := coalesce((s->>'blind')::boolean, false);
	v_state text;
	v_waiting text;
	o operation;
begin
	select parent_id into v_parent from operation where id = v_id;
	if v_parent is not null then
		perform op_lock_ancestors(v_id);
	end if;
	select * into o from operation where id = v_id for update;
	if found and o.claim_gen = (s->>'gen')::bigint and o.claimed_by is null then
		return o.state;
	end if;
	if not found or o.state <> 'live' or o.claim_gen <> (s->>'gen')::bigint then
		o := op_fenced(v_id, (s->>'gen')::bigint); -- refuses
	end if;
	v_state := o.state;
	v_waiting := o.waiting_for;
	o.claimed_by := null;
	o.data := coalesce(j_some(s->'data'), o.data);
	if j_some(s->'effect') is not null then
		perform settle_effect(v_id, s, v_now);
	end if;
	if coalesce(s->'resources', '[]') <> '[]' or coalesce(s->'catalog', '[]') <> '[]'
		or coalesce(s->'events', '[]') <> '[]' then
		perform settle_lists(o, s, v_now);
	end if;
	if v_blind or o.blind_since is not null then
		o := op_sight(o, v_blind, s#>>'{error,detail}', v_now);
	end if;
	if s->>'verdict' <> 'spawn' and o.children is not null and exists (select 1 from operation
		where parent_id = o.id and stage = o.step and ended_at is null) then
		-- A retry has revived the stage since the claim, or it was looked at early.
		o := op_sleep(o);
	elsif s->>'verdict' = 'advance' then
		o := op_goto(o, s#>>'{next,step}', s#>>'{next,phase}', s#>>'{next,title}', v_now);
	else
		o := settle_verdict(o, s, v_now);
	end if;
	if o.wake and o.state = 'live' then
		o.due_at := v_now;
	end if;
	o.wake := false;
	if o.state = 'live' and (s#>>'{next,quick}')::boolean then
		o.rush := true; -- needs no cloud
	end if;
	perform op_store(o);
	if o.ended_at is not null then
		perform op_ended(o, v_now);
	elsif v_parent is not null
		and (o.state, o.waiting_for) is distinct from (v_state, v_waiting) then
		perform op_tell_parent(o, v_now);
	end if;
	return o.state;
end $$;
