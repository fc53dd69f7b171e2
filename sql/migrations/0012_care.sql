-- Replay, and what is thrown away.

-- Rebuilds state, step and phase from the events alone.
create function op_replay(p_op text, out state text, out step text, out phase text)
language sql stable security definer set search_path = instantstart, pg_temp as $$
	select
		(select e.state from event e where op_id = p_op and e.state is not null
			order by seq desc limit 1),
		(select e.step from event e where op_id = p_op and e.step is not null
			order by seq desc limit 1),
		(select e.phase from event e where op_id = p_op and e.phase is not null
			order by seq desc limit 1)
$$;

-- Operations whose row differs from what their events say, or whose events have
-- gaps: always none.
create function op_replay_check() returns table (op_id text, why text)
language sql stable security definer set search_path = instantstart, pg_temp as $$
	select o.id, format('row %s/%s/%s, events %s/%s/%s', o.state, o.phase, o.step,
		r.state, r.phase, r.step)
	from operation o, op_replay(o.id) r
	where (o.state, o.step, o.phase) is distinct from (r.state, r.step, r.phase)
	union all
	select e.op_id, format('%s events, the last is %s', count(*), max(seq))
	from event e group by e.op_id having count(*) <> max(seq)
$$;

-- Deletes what has expired. Pollers call it now and then.
create function journal_sweep() returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
begin
	delete from idempotency where created_at < v_now - interval '30 days';
	delete from session where expires_at < v_now - interval '1 day';
	delete from login_link where expires_at < v_now - interval '1 day';
	delete from read_cache where fetched_at < v_now - interval '1 day';
end $$;
