-- Accepting a request: idempotency, locks, operation, event and audit in one
-- transaction.

-- The operation that this key started, or null after taking the key. IS422 when
-- the key came with another request. Two at once: the second waits for the first.
create function idempotency_take(p_principal text, p_key text, p_digest text, p_op text,
	p_now timestamptz) returns text language plpgsql as $$
declare
	i idempotency;
begin
	insert into idempotency as old values (p_principal, p_key, p_digest, p_op, p_now)
	on conflict (principal, key) do update set digest = excluded.digest,
		op_id = excluded.op_id, created_at = excluded.created_at
		where old.created_at < p_now - interval '30 days';
	if found then
		return null;
	end if;
	select * into i from idempotency where principal = p_principal and key = p_key;
	if i.digest <> p_digest then
		perform j_refuse('IS422', 'This idempotency key was used for another request.',
			jsonb_build_object('field', '/idempotency_key', 'seen', p_key,
				'expected', format('the request that started operation %s', i.op_id),
				'fix', 'Use a new key for a new request, or send the first request unchanged.',
				'cause', jsonb_build_object('source', 'operation', 'code', 'idempotency_key',
					'message', i.op_id)));
	end if;
	return i.op_id;
end $$;

-- A new row; live and due now.
create function op_new(s jsonb, p_parent operation, p_now timestamptz) returns operation
language plpgsql as $$
declare
	o operation;
begin
	o.id := s->>'id';
	o.kind := s->>'kind';
	o.title := coalesce(s->>'title', o.kind);
	o.target := s->>'target';
	o.cluster := coalesce(s#>>'{input,cluster}', split_part(o.target, '/', 1));
	o.input := s->'input';
	o.digest := s->>'digest';
	o.principal := coalesce(p_parent.principal, s->>'principal');
	o.actor_name := coalesce(p_parent.actor_name,
		(select name from principal where id = o.principal), o.principal);
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
	select coalesce(jsonb_agg(p || '{"state": "pending"}' order by n), '[]') into o.phases
	from jsonb_array_elements(s->'phases') with ordinality t (p, n);
	o.phases := op_phase(o.phases, o.phase, 'running', p_now);
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
	select coalesce(array_agg(distinct k order by k), '{}') into o.lock_keys
	from jsonb_array_elements_text(coalesce(j_some(s->'locks'), '[]')) k;
	o.created_at := p_now;
	o.updated_at := p_now;
	o.version := 0;
	o.doc := '';
	return o;
end $$;

-- s: id, kind, title, target, input, digest, principal, face, idem_key,
-- plan_digest, capability, audit, queue, traceparent, locks[], step, phase,
-- phases[{name,title}], deadline_s, request_id.
-- outcome: 'new', or 'same' with the operation that the request had started.
create function op_submit(s jsonb, out outcome text, out id text, out doc text)
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_same text;
	v_other text;
	o operation;
begin
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

-- An open operation that does the same for the same principal.
create function op_open_twin(s jsonb) returns text language plpgsql as $$
begin
	return (select id from operation
	where principal = s->>'principal' and kind = s->>'kind' and target = s->>'target'
		and digest = s->>'digest' and state in ('live', 'held') and parent_id is null
		and not cancel_requested
	order by id limit 1);
end $$;
