-- A poller's claim and its intents. claim_gen is the fence.

-- Whether the due operation, locked, holds its locks. A queued one is started by
-- the release before it; it looks itself, too, in case that one had to skip it.
create function op_has_locks(p_op text, p_now timestamptz) returns boolean
language plpgsql as $$
declare
	o operation;
begin
	select * into o from operation where id = p_op;
	if o.queued then
		perform lock_promote(o.lock_keys, p_now);
		update operation set due_at = p_now + interval '5 seconds'
		where id = p_op and queued;
		return not found;
	end if;
	return true;
end $$;

-- One due operation and all that its step needs, or null. The row becomes due
-- again when the lease passes: nobody has to rescue it.
create function op_claim(p_worker text, p_lease_ms bigint) returns jsonb
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_id text;
	o operation;
	c operation;
	e effect;
begin
	loop
		select id into v_id from operation where state = 'live' and due_at <= v_now
		order by due_at, id limit 1 for update skip locked;
		if not found then
			return null;
		end if;
		exit when op_has_locks(v_id, v_now);
	end loop;
	update operation set claim_gen = claim_gen + 1, claimed_by = p_worker, wake = false,
		due_at = j_after(v_now, p_lease_ms), step_since = coalesce(step_since, v_now)
	where id = v_id returning * into o;
	select * into e from effect where op_id = v_id and step = o.step and outcome is null
	order by issued_at desc limit 1;
	select * into c from operation where parent_id = v_id and stage = o.step;
	return jsonb_build_object('op_id', o.id, 'gen', o.claim_gen, 'root_id', o.root_id,
		'parent_id', o.parent_id, 'kind', o.kind, 'target', o.target, 'step', o.step,
		'input', o.input, 'data', o.data, 'answer', o.answer, 'attempt', o.attempt,
		'waits', o.waits, 'cancel_requested', o.cancel_requested,
		'cancel_undo', o.cancel_undo, 'now_ms', j_ms(v_now),
		'created_ms', j_ms(o.created_at), 'step_since_ms', j_ms(o.step_since),
		'deadline_ms', j_ms(o.deadline_at), 'issued', e.op_id is not null,
		'issued_at_ms', j_ms(e.issued_at), 'issued_item', e.item,
		'issued_epoch', e.epoch, 'child_id', c.id,
		'child_state', c.state, 'child_result', c.result, 'child_error', c.error);
end $$;

-- The operation, locked, if the claim p_gen still stands; else IS001. A settled
-- claim has ended too: a settle that is sent twice changes nothing.
create function op_fenced(p_op text, p_gen bigint) returns operation
language plpgsql as $$
declare
	o operation;
begin
	select * into o from operation where id = p_op for update;
	if not found or o.state <> 'live' or o.claim_gen <> p_gen or o.claimed_by is null then
		perform j_refuse('IS001', format('The claim %s of operation %s has passed.',
			p_gen, p_op), jsonb_build_object('seen', o.claim_gen, 'expected', p_gen));
	end if;
	return o;
end $$;

-- Deterministic, at most 64 letters, digits and hyphens.
create function effect_token(p_op text, p_step text, p_item text, p_epoch int)
returns text language sql stable as $$
	select 'is-' || left(j_sha256(jsonb_build_array(p_op, p_step, p_item, p_epoch)::text), 48)
$$;

-- Stores or re-stamps the intent to send a mutation.
--   new      never issued (or the last epoch was refused: the next one begins)
--   issued   issued before, outcome unknown; issued_at_ms is of that issue
--   done     the outcome is stored; nothing is to be sent
-- A convergent effect that was done is a new intent: it is planned after a fresh
-- read, so what it saw has changed since. So is any other on a new visit of the
-- step (the thing was cleared away, or a retry found it missing): an answer
-- belongs to the visit that asked. What is done once stays done once.
create function op_intent(p_op text, p_gen bigint, p_step text, p_item text, p_class text,
	p_name text, p_digest text, p_request jsonb, out status text, out token text,
	out epoch int, out issued_at_ms bigint, out digest text, out response jsonb)
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
			gen, visit, first_issued_at, issued_at)
		values (p_op, p_step, p_item, epoch, p_class, p_name, token, p_digest, p_request,
			p_gen, o.visit, v_now, v_now);
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
			request = case when e.class = 'convergent' then p_request else x.request end
		where x.op_id = p_op and x.step = p_step and x.item = p_item and x.epoch = e.epoch;
	end if;
end $$;
