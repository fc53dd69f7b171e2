-- What people ask of an operation: cancel, retry, answer.
--
-- p: op, principal, face, capability, idem_key, args. Each answers with the
-- operation's JSON text.

-- Whether this order came before under its key; takes the key otherwise.
create function order_seen(p jsonb, p_verb text, p_now timestamptz) returns boolean
language sql as $$
	select p->>'idem_key' is not null and idempotency_take(p->>'principal', p->>'idem_key',
		j_sha256(jsonb_build_array(p_verb, p->'op', p->'args')::text), p->>'op', p_now)
		is not null
$$;

create function order_audit(p jsonb, p_verb text, p_outcome text) returns void
language plpgsql as $$
begin
	perform audit_add(p->>'principal', p->>'face', coalesce(p->>'capability', p_verb || '_operation'),
		p->>'op', p->>'op', p_outcome, null, null, j_some(p->'args'), p->>'request_id');
end $$;

create function order_refuse_state(o operation, p_wanted text) returns void
language plpgsql as $$
begin
	perform j_refuse('IS410', format('Operation %s is %s.', o.id, op_status(o)),
		jsonb_build_object('seen', op_status(o), 'expected', p_wanted));
end $$;

-- Asks one operation to stop, its live stage first. Its ancestors are locked.
create function op_cancel_tree(p_op text, p_undo boolean, p_now timestamptz) returns void
language plpgsql as $$
declare
	o operation;
	v_child text;
begin
	select * into o from operation where id = p_op for update;
	if o.ended_at is not null then
		return;
	end if;
	perform op_log(o.id, p_now, 'cancel', jsonb_build_object('undo', p_undo));
	o.cancel_requested := true;
	o.cancel_undo := o.cancel_undo or p_undo;
	if o.queued then -- it has touched nothing and holds nothing
		o := op_end(o, 'cancelled', p_now);
		perform op_store(o);
		perform op_ended(o, p_now);
		return;
	end if;
	if o.state = 'held' then
		o := op_unhold(o, p_now);
	end if;
	select id into v_child from operation
	where parent_id = o.id and stage = o.step and ended_at is null and not undo;
	if v_child is null and not exists (select 1 from operation
		where parent_id = o.id and undo and ended_at is null) then
		o := op_wake(o, p_now);
	end if;
	perform op_store(o);
	if v_child is not null then
		perform op_cancel_tree(v_child, false, p_now);
		select * into o from operation where id = p_op;
	end if;
	perform op_tell_parent(o, p_now);
end $$;

-- A held operation lives again; what it was held for is not its time.
create function op_unhold(o operation, p_now timestamptz) returns operation
language plpgsql as $$
declare
	v_held interval := p_now - o.held_at;
	v_parent text := o.parent_id;
begin
	o.state := 'live';
	o.question := null;
	o.held_at := null;
	o.step_since := null;
	o.waits := 0;
	o.due_at := p_now;
	o.deadline_at := o.deadline_at + v_held;
	o.phases := op_phase(o.phases, o.phase, 'running', p_now);
	while v_parent is not null loop
		update operation set deadline_at = deadline_at + v_held where id = v_parent
		returning parent_id into v_parent;
	end loop;
	perform op_log(o.id, p_now, 'unheld', '{}', 'live', o.step, o.phase);
	return o;
end $$;

create function op_cancel(p jsonb) returns text
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_undo boolean := coalesce((p#>>'{args,undo}')::boolean, false);
	o operation;
begin
	if order_seen(p, 'cancel', v_now) then
		return op_json(p->>'op');
	end if;
	o := op_locked(p->>'op');
	if o.state in ('succeeded', 'failed') then
		perform order_refuse_state(o, 'an operation that has not ended');
	end if;
	-- Cancelled already, or asked to: the same once more; undo may be added.
	if o.state <> 'cancelled' and (not o.cancel_requested or (v_undo and not o.cancel_undo)) then
		perform op_cancel_tree(o.id, v_undo, v_now);
	end if;
	perform order_audit(p, 'cancel', 'accepted');
	return op_json(o.id);
end $$;

-- A failed or cancelled operation goes on where it stopped, with the same names.
-- The deepest stage that stopped it is revived first, then everything above
-- sleeps until its stage ends. Its ancestors are locked.
create function op_revive(o operation, p_now timestamptz) returns operation
language plpgsql as $$
declare
	c operation;
begin
	o.state := 'live';
	o.ended_at := null;
	o.error := null;
	o.result := null;
	o.attempt := 0;
	o.waits := 0;
	o.step_since := null;
	o.visit := o.visit + 1;
	o.answer := null;
	o.cancel_requested := o.cancel_requested and o.step = 'undo';
	o.cancel_undo := o.cancel_requested;
	o.due_at := p_now;
	o.deadline_at := j_after(p_now, o.deadline_s * 1000);
	if o.resume_step <> o.step then
		o := op_goto(o, o.resume_step, o.resume_phase, null, p_now);
	end if;
	o.phases := op_phase(o.phases, o.phase, 'running', p_now);
	perform op_log(o.id, p_now, 'revived', '{}', o.state, o.step, o.phase);
	select * into c from operation
	where parent_id = o.id and stage = o.step and state in ('failed', 'cancelled') for update;
	if found then
		c := op_revive(c, p_now);
		perform op_store(c);
	end if;
	return case when exists (select 1 from operation
		where parent_id = o.id and stage = o.step and ended_at is null)
		then op_sleep(o) else o end;
end $$;

-- Revives the operations above a revived stage, nearest first.
create function op_revive_above(c operation, p_now timestamptz) returns void
language plpgsql as $$
declare
	o operation;
begin
	if c.parent_id is null then
		return;
	end if;
	select * into o from operation where id = c.parent_id for update;
	if o.state = 'succeeded' or o.step <> c.stage then
		perform order_refuse_state(o, 'a pipeline that stopped at this stage');
	end if;
	if o.ended_at is not null then
		o := op_revive(o, p_now);
	else -- it has not seen yet that its stage had ended
		o := op_sleep(o);
		o.cancel_requested := o.cancel_requested and o.step = 'undo';
		o.cancel_undo := o.cancel_undo and o.cancel_requested;
	end if;
	perform op_store(o);
	perform op_revive_above(o, p_now);
end $$;

create function op_retry(p jsonb) returns text
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	o operation;
	r operation;
	v_twin text;
begin
	if order_seen(p, 'retry', v_now) then
		return op_json(p->>'op');
	end if;
	o := op_locked(p->>'op');
	if not op_retryable(o) then
		perform order_refuse_state(o, 'an operation that failed or was cancelled without undo');
	end if;
	select * into r from operation where id = o.root_id;
	if r.ended_at is not null then
		v_twin := op_open_twin(to_jsonb(r));
		if v_twin is not null then
			perform op_refuse_conflict(v_twin);
		end if;
		perform lock_take(r.id, r.lock_keys, false, v_now);
	end if;
	o := op_revive(o, v_now);
	perform op_store(o);
	perform op_revive_above(o, v_now);
	perform order_audit(p, 'retry', 'accepted');
	return op_json(o.id);
end $$;

-- The choice reaches the held step with its next claim.
create function op_answer(p jsonb) returns text
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_choices jsonb;
	o operation;
begin
	if order_seen(p, 'answer', v_now) then
		return op_json(p->>'op');
	end if;
	o := op_locked(p->>'op');
	if o.state <> 'held' then
		perform order_refuse_state(o, 'an operation that needs a decision');
	end if;
	v_choices := coalesce(j_some(o.question->'choices'), '[]');
	if v_choices <> '[]' and not v_choices @> jsonb_build_array(
		jsonb_build_object('id', p#>'{args,choice}')) then
		perform j_refuse('IS400', 'That is not one of the choices.', jsonb_build_object(
			'field', '/choice', 'seen', p#>>'{args,choice}', 'expected',
			(select 'one of ' || string_agg(c->>'id', ', ') from jsonb_array_elements(v_choices) c)));
	end if;
	perform op_log(o.id, v_now, 'answered', (p->'args') || jsonb_build_object(
		'principal', p->'principal', 'face', p->'face', 'question', o.question->'question'));
	o := op_unhold(o, v_now);
	o.answer := p->'args';
	perform op_store(o);
	perform op_tell_parent(o, v_now);
	perform order_audit(p, 'answer', 'accepted');
	return op_json(o.id);
end $$;
