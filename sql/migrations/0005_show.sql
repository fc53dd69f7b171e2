-- The operation as faces show it, kept ready in operation.doc so that the most
-- frequent read is one indexed SELECT.

create function op_phase(p_phases jsonb, p_name text, p_state text, p_now timestamptz)
returns jsonb language plpgsql stable as $$
begin
	return (select coalesce(jsonb_agg(case
		when p->>'name' is distinct from p_name then p
		when p_state in ('running', 'held') then
			p - 'ended_at' || jsonb_build_object('state', p_state,
				'started_at', coalesce(p->>'started_at', j_text(p_now)))
		else p || jsonb_build_object('state', p_state, 'ended_at', j_text(p_now))
	end order by n), '[]')
	from jsonb_array_elements(p_phases) with ordinality as t (p, n));
end $$;

-- The word that people read.
create function op_status(o operation) returns text language sql immutable as $$
	select case
		when o.state = 'held' then case
			when o.question->'choices' @> '[{"id": "effect_happened"}]' then 'outcome-unknown'
			else 'needs-decision' end
		when o.state <> 'live' then o.state
		when o.cancel_requested then 'cancelling'
		when o.queued or (o.claim_gen = 0 and o.waiting_for is null) then 'queued'
		when o.waiting_for is not null then 'waiting'
		else 'running' end
$$;

create function op_retryable(o operation) returns boolean language sql immutable as $$
	select o.state = 'failed' or (o.state = 'cancelled' and not o.cancel_undo)
$$;

-- What an agent should call next.
create function op_next(o operation) returns jsonb language sql immutable as $$
	select case
		when o.state = 'held' then jsonb_build_object('tool', 'answer_operation',
			'arguments', jsonb_build_object('id', o.id),
			'why', 'A person must choose; the choices and their consequences are in question.')
		when o.state = 'live' then jsonb_build_object('tool', 'get_operation',
			'arguments', jsonb_build_object('id', o.id, 'wait_seconds', 25),
			'why', 'It is not finished; done tells when it is.')
		when o.state = 'failed' then jsonb_build_object('tool', 'retry_operation',
			'arguments', jsonb_build_object('id', o.id),
			'why', 'It goes on at the failed step once error.fix is done.') end
$$;

create function op_member(p_name text, p jsonb) returns text language sql immutable as $$
	select case when p is null or p = 'null' then '' else ', "' || p_name || '": ' || p::text end
$$;

create function op_render(o operation) returns text language plpgsql stable as $$
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
		|| op_member('question', o.question)
		|| op_member('result', o.result)
		|| op_member('error', o.error)
		|| op_member('parent', to_jsonb(o.parent_id))
		|| op_member('children', o.children)
		|| op_member('ended_at', to_jsonb(j_text(o.ended_at)))
		|| op_member('next', op_next(o)) || '}';
end $$;

create function op_json(p_op text) returns text
language plpgsql stable security definer set search_path = instantstart, pg_temp as $$
begin
	return (select doc from operation where id = p_op);
end $$;

-- Tells pollers and watchers; notifications of one transaction coalesce.
create function op_shown() returns trigger language plpgsql as $$
begin
	if tg_op = 'INSERT' or (new.state, new.step, new.phase, new.phases, new.attempt,
		new.queued, new.cancel_requested)
		is distinct from (old.state, old.step, old.phase, old.phases, old.attempt,
		old.queued, old.cancel_requested)
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
create trigger op_shown_insert before insert on operation
	for each row execute function op_shown();
-- Only the first claim shows something new: it runs.
create trigger op_shown_update before update on operation
	for each row when (new.claimed_by is null or new.claim_gen <> old.claim_gen + 1
		or new.claim_gen = 1) execute function op_shown();

-- Writes back what a transition may have changed.
create function op_store(o operation) returns void language plpgsql as $$
begin
	update operation set state = o.state, step = o.step, phase = o.phase,
		phases = o.phases, data = o.data, attempt = o.attempt, waits = o.waits,
		step_since = o.step_since, visit = o.visit, waiting_for = o.waiting_for,
		resume_step = o.resume_step, resume_phase = o.resume_phase, due_at = o.due_at,
		claimed_by = o.claimed_by, wake = o.wake, queued = o.queued,
		cancel_requested = o.cancel_requested, cancel_undo = o.cancel_undo,
		question = o.question, answer = o.answer, held_at = o.held_at,
		deadline_at = o.deadline_at, children = o.children, result = o.result,
		error = o.error, ended_at = o.ended_at
	where id = o.id;
end $$;
