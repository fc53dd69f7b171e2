-- Locks of root operations, their queue, and the order in which rows are locked.
--
-- Rows of one tree are locked from the root down, so that a child that settles
-- and a parent that is cancelled cannot wait for each other in a ring.

create function op_lock_ancestors(p_op text) returns void language plpgsql as $$
declare
	v_parent text := (select parent_id from operation where id = p_op);
begin
	if v_parent is not null then
		perform op_lock_ancestors(v_parent);
		perform 1 from operation where id = v_parent for update;
	end if;
end $$;

-- The operation, locked after its ancestors; IS404.
create function op_locked(p_op text) returns operation language plpgsql as $$
declare
	o operation;
begin
	perform op_lock_ancestors(p_op);
	select * into o from operation where id = p_op for update;
	if not found then
		perform j_refuse('IS404', format('There is no operation %s.', p_op),
			jsonb_build_object('field', '/id', 'seen', p_op,
				'fix', 'List the operations to find its id.'));
	end if;
	return o;
end $$;

-- Whoever holds the key or waits for it longer. Its row is locked, so that its
-- release sees those who begin to wait now.
create function lock_other(p_key text, p_op text) returns text language plpgsql as $$
declare
	v_op text;
begin
	select op_id into v_op from lock where key = p_key and op_id <> p_op
	order by held desc, since, op_id limit 1 for key share;
	return v_op;
end $$;

-- Takes all keys. null: held. Else the operation in the way: with p_queue we
-- wait for all keys now, holding none; without, it is IS409.
create function lock_take(p_op text, p_keys text[], p_queue boolean, p_now timestamptz)
returns text language plpgsql as $$
declare
	v_key text;
	v_other text;
begin
	foreach v_key in array p_keys loop -- sorted
		loop
			v_other := lock_other(v_key, p_op);
			exit when v_other is not null;
			-- Waits for one who is just inserting the same key, then looks again.
			insert into lock values (v_key, p_op, true, p_now) on conflict do nothing;
			exit when found;
		end loop;
		exit when v_other is not null;
	end loop;
	if v_other is null then
		return null;
	elsif not p_queue then
		perform op_refuse_conflict(v_other);
	end if;
	update lock set held = false where op_id = p_op;
	insert into lock select k, p_op, false, p_now from unnest(p_keys) k
	on conflict do nothing;
	return v_other;
end $$;

create function op_refuse_conflict(p_other text) returns void language plpgsql as $$
declare
	o operation;
begin
	select * into o from operation where id = p_other;
	perform j_refuse('IS409',
		format('Operation %s (%s, %s) is at work on it.', o.id, o.title, o.target),
		jsonb_build_object('operation', o.id, 'seen', op_status(o),
			'fix', format('Wait for operation %s, cancel it, or send the request again with '
				'queue=true to start after it.', o.id),
			'cause', jsonb_build_object('source', 'operation', 'code', o.kind,
				'message', o.id)));
end $$;

-- Starts those in the queue for these keys whose turn has come. One at a time:
-- two releases that each see the other's key as held would start nobody.
create function lock_promote(p_keys text[], p_now timestamptz) returns void
language plpgsql as $$
declare
	v_op text;
	o operation;
begin
	if not exists (select 1 from lock where key = any (p_keys) and not held) then
		return;
	end if;
	perform pg_advisory_xact_lock(hashtext('instantstart.lock'));
	for v_op in select op_id from lock where key = any (p_keys) and not held
		group by op_id order by min(since), op_id loop
		continue when exists (select 1 from lock mine
			join lock other on other.key = mine.key and other.op_id <> mine.op_id
			where mine.op_id = v_op and (other.held
				or (other.since, other.op_id) < (mine.since, mine.op_id)));
		-- Somebody looks at it right now: waiting could be a ring, so it finds
		-- its locks free itself, at its next look (op_claim).
		select * into o from operation where id = v_op for update skip locked;
		continue when not found;
		update lock set held = true where op_id = v_op;
		o.queued := false;
		o.waiting_for := null;
		o.due_at := p_now;
		o.deadline_at := j_after(p_now, o.deadline_s * 1000);
		perform op_log(v_op, p_now, 'unqueued');
		perform op_store(o);
	end loop;
end $$;

create function lock_release(p_op text, p_now timestamptz) returns void
language plpgsql as $$
declare
	v_keys text[];
begin
	with gone as (delete from lock where op_id = p_op returning key)
	select array_agg(key) into v_keys from gone;
	if v_keys is not null then
		perform lock_promote(v_keys, p_now);
	end if;
end $$;

-- Ends an operation; the caller stores it and calls op_ended.
create function op_end(o operation, p_state text, p_now timestamptz) returns operation
language plpgsql as $$
begin
	o.state := p_state;
	o.ended_at := p_now;
	o.claimed_by := null;
	o.wake := false;
	o.queued := false;
	o.due_at := 'infinity';
	o.waiting_for := null;
	o.question := null;
	o.answer := null;
	o.held_at := null;
	o.phases := op_phase(o.phases, o.phase,
		case p_state when 'succeeded' then 'done' else p_state end, p_now);
	if p_state = 'succeeded' then
		select coalesce(jsonb_agg(case when p->>'state' = 'pending'
			then p || '{"state": "skipped"}' else p end order by n), '[]')
		into o.phases from jsonb_array_elements(o.phases) with ordinality t (p, n);
	end if;
	return o;
end $$;

-- Makes an unclaimed operation due now; a claimed one looks again at its settle.
create function op_wake(o operation, p_now timestamptz) returns operation
language plpgsql as $$
begin
	if o.claimed_by is null then
		o.due_at := least(o.due_at, p_now);
	else
		o.wake := true;
	end if;
	return o;
end $$;

-- Shows a child's news in its parent (locked before it), and wakes the parent
-- when the child has ended.
create function op_tell_parent(c operation, p_now timestamptz) returns void
language plpgsql as $$
declare
	p operation;
begin
	if c.parent_id is null then
		return;
	end if;
	select * into p from operation where id = c.parent_id for update;
	select jsonb_agg(jsonb_build_object('id', id, 'kind', kind, 'title', title,
		'stage', stage, 'state', state) order by created_at, id)
	into p.children from operation where parent_id = p.id;
	if p.ended_at is null and c.stage = p.step then
		p.waiting_for := case c.state
			when 'held' then format('a decision in stage %s', c.title)
			when 'live' then coalesce(c.waiting_for, format('stage %s', c.title)) end;
		if c.ended_at is not null then
			p := op_wake(p, p_now);
		end if;
	end if;
	perform op_store(p);
	perform op_tell_parent(p, p_now);
end $$;

-- After an ended operation was stored.
create function op_ended(o operation, p_now timestamptz) returns void
language plpgsql as $$
begin
	perform op_log(o.id, p_now, o.state, case o.state
		when 'failed' then jsonb_build_object('error', o.error)
		when 'succeeded' then jsonb_build_object('result', o.result) end,
		o.state, o.step, o.phase);
	if o.parent_id is null then
		perform lock_release(o.id, p_now);
		perform refresh_want(o.cluster);
	else
		perform op_tell_parent(o, p_now);
	end if;
end $$;
