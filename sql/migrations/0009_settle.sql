-- The end of a claim: everything a step has brought about, in one transaction.
--
-- s: op, gen, verdict, step, phase, next{step,phase,title}, data, due_ms,
-- waiting_for, result, question, error, resume{step,phase},
-- effect{outcome,item,epoch,response,request_id,call}, resources[], catalog[],
-- events[{what,data}], spawn{id,kind,title,target,input,digest,step,phase,
-- phases,deadline_s}.

-- The ledger's outcome, and the call's line in the timeline.
create function settle_effect(o operation, s jsonb, p_now timestamptz) returns void
language plpgsql as $$
declare
	f jsonb := s->'effect';
	v_outcome text := s#>>'{effect,outcome}';
	e effect;
begin
	if j_some(f) is null then
		return;
	end if;
	update effect set
		outcome = nullif(v_outcome, 'unknown'),
		ended_at = case when v_outcome <> 'unknown' then p_now end,
		response = j_some(f->'response'),
		request_id = f->>'request_id'
	where op_id = o.id and step = s->>'step' and item = coalesce(f->>'item', '')
		and epoch = (f->>'epoch')::int
	returning * into e;
	if not found then
		raise exception 'no intent of %/% is stored', o.id, s->>'step';
	end if;
	perform op_log(o.id, p_now, 'call', jsonb_build_object('call', coalesce(f->>'call', e.name),
		'step', s->>'step', 'item', e.item, 'outcome', v_outcome, 'request_id', e.request_id,
		'duration_ms', j_ms(p_now) - j_ms(e.issued_at)));
end $$;

-- Resources, catalog rows and the step's own lines.
create function settle_lists(o operation, s jsonb, p_now timestamptz) returns void
language plpgsql as $$
declare
	i jsonb;
begin
	for i in select * from jsonb_array_elements(coalesce(j_some(s->'resources'), '[]')) loop
		if i->>'id' = '*' then
			perform resource_gone(coalesce(i->>'cluster', o.cluster), i->>'type');
		else
			perform resource_put(coalesce(i->>'cluster', o.cluster), o.root_id, i);
		end if;
	end loop;
	for i in select * from jsonb_array_elements(coalesce(j_some(s->'catalog'), '[]')) loop
		perform catalog_put(i->>'kind', coalesce(i->>'cluster', o.cluster), i->>'name',
			j_some(i->'desired'), j_some(i->'observed'), o.id);
	end loop;
	for i in select * from jsonb_array_elements(coalesce(j_some(s->'events'), '[]')) loop
		perform op_log(o.id, p_now, i->>'what', j_some(i->'data'));
	end loop;
end $$;

-- Moves to a step; a phase that the kind did not announce is appended.
create function op_goto(o operation, p_step text, p_phase text, p_title text,
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

create function settle_wait(o operation, s jsonb, p_now timestamptz) returns operation
language plpgsql as $$
declare
	v_retry boolean := s->>'verdict' = 'retry';
	v_sentence text := coalesce(s->>'waiting_for', 'another try: ' || (s#>>'{error,detail}'));
begin
	if v_sentence is distinct from o.waiting_for and not v_retry then
		o.waits := 0;
		perform op_log(o.id, p_now, 'wait', jsonb_build_object('waiting_for', v_sentence));
	end if;
	if v_retry then
		o.attempt := o.attempt + 1;
		perform op_log(o.id, p_now, 'retry', jsonb_build_object('attempt', o.attempt,
			'error', s->'error', 'due_ms', s->'due_ms'));
	else
		o.waits := o.waits + 1;
	end if;
	o.waiting_for := v_sentence;
	o.due_at := j_after(p_now, (s->>'due_ms')::bigint);
	return o;
end $$;

create function settle_hold(o operation, s jsonb, p_now timestamptz) returns operation
language plpgsql as $$
begin
	o.state := 'held';
	o.question := s->'question';
	o.held_at := p_now;
	o.answer := null;
	o.waiting_for := null;
	o.due_at := 'infinity';
	o.phases := op_phase(o.phases, o.phase, 'held', p_now);
	perform op_log(o.id, p_now, 'held', jsonb_build_object('question', o.question), 'held');
	return o;
end $$;

-- Starts the step's stage and sleeps until it ends. A cancel that came in
-- between is seen first; only undoing starts stages after a cancel.
create function settle_spawn(o operation, s jsonb, p_now timestamptz) returns operation
language plpgsql as $$
declare
	c operation;
begin
	if o.cancel_requested and o.step <> 'undo' then
		o.due_at := p_now;
		return o;
	end if;
	c := op_new(s->'spawn', o, p_now);
	c.stage := o.step;
	c.undo := o.step = 'undo';
	if c.undo then -- what was made, for what tags do not tell
		c.input := c.input || jsonb_build_object('owned', (
			select coalesce(jsonb_agg(jsonb_build_object('type', type, 'id', id)
				order by seq desc), '[]')
			from resource where op_id = o.root_id and state = 'made'));
	end if;
	insert into operation select c.* on conflict (parent_id, stage)
		where parent_id is not null do nothing;
	if found then
		perform op_log(o.id, p_now, 'spawned', jsonb_build_object('stage', o.step,
			'operation', c.id, 'kind', c.kind, 'title', c.title));
		perform op_log(c.id, p_now, 'submitted', jsonb_build_object('parent', o.id,
			'principal', c.principal), c.state, c.step, c.phase);
	elsif not exists (select 1 from operation
		where parent_id = o.id and stage = o.step and ended_at is null) then
		o.due_at := p_now; -- it has run already: the next claim tells how it ended
		return o;
	end if;
	return op_sleep(o);
end $$;

-- Waits for the stage of the present step; its end wakes us.
create function op_sleep(o operation) returns operation language plpgsql as $$
begin
	o.due_at := 'infinity';
	o.wake := false;
	select jsonb_agg(jsonb_build_object('id', id, 'kind', kind, 'title', title,
		'stage', stage, 'state', state) order by created_at, id)
	into o.children from operation where parent_id = o.id;
	select case c.state when 'held' then format('a decision in stage %s', c.title)
		else coalesce(c.waiting_for, format('stage %s', c.title)) end
	into o.waiting_for from operation c where c.parent_id = o.id and c.stage = o.step;
	return o;
end $$;

create function settle_verdict(o operation, s jsonb, p_now timestamptz) returns operation
language plpgsql as $$
declare
	v_where jsonb := jsonb_build_object('phase', o.phase, 'step', o.step);
begin
	case s->>'verdict'
	when 'advance' then
		return op_goto(o, s#>>'{next,step}', s#>>'{next,phase}', s#>>'{next,title}', p_now);
	when 'wait', 'retry' then
		return settle_wait(o, s, p_now);
	when 'spawn' then
		return settle_spawn(o, s, p_now);
	when 'hold' then
		if o.wake then -- a cancel came meanwhile: it is seen first
			o.due_at := p_now;
			return o;
		end if;
		return settle_hold(o, s, p_now);
	when 'done' then
		o.result := coalesce(j_some(s->'result'), '{}');
		return op_end(o, 'succeeded', p_now);
	when 'fail', 'cancelled' then
		o.error := j_some(s->'error') || v_where;
		o.result := j_some(s->'result'); -- what was reached before
		o.resume_step := coalesce(s#>>'{resume,step}', o.step);
		o.resume_phase := coalesce(s#>>'{resume,phase}', o.phase);
		return op_end(o, case s->>'verdict' when 'fail' then 'failed' else 'cancelled' end,
			p_now);
	end case;
end $$;

-- IS001 when the claim has passed. Returns the state.
create function op_settle(s jsonb) returns text
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	o operation;
	old operation;
begin
	perform op_lock_ancestors(s->>'op');
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
