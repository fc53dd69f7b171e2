-- Time in which nobody could look counts against no deadline: in a step, between two steps,
-- before the first look, nor against those of the operations above, whose stage it is, as
-- with a look that has failed (op_sight). While the database is down nothing can be
-- written: the first claim afterwards says since when.

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
		select id, queued, case when blind_since is null
			and due_at < v_now - interval '10 seconds'
			then least(j_ms(v_now) - j_ms(due_at), 24 * 3600 * 1000) else 0 end
		into v_id, v_queued, v_gap
		from operation where state = 'live' and rush and due_at <= v_now
		order by due_at, id limit 1 for update skip locked;
		if not found then
			select id, queued, case when blind_since is null
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
		-- A step that begins now has lost nothing.
		blind_ms = case when v_gap > 0 and step_since is not null
			then coalesce(blind_ms, 0) + v_gap else blind_ms end,
		deadline_at = least(j_after(deadline_at, v_gap), j_after(v_now, deadline_s * 1000))
	where id = v_id returning * into o;
	if v_gap > 0 and o.parent_id is not null then
		perform op_grant_above(o.parent_id, v_gap);
	end if;
	if v_gap >= 60000 then
		perform op_log(v_id, v_now, 'sees', jsonb_build_object(
			'since', j_text(j_after(v_now, -v_gap)), 'blind_ms', v_gap, 'why',
			'No poller looked at it: pollers were stopped or busy, or the database was down.'));
	end if;
	-- Of a clock that was ahead.
	if exists (select 1 from effect where op_id = v_id and outcome is null
		and issued_at > v_now) then
		update effect set issued_at = v_now
		where op_id = v_id and outcome is null and issued_at > v_now;
	end if;
	return op_claim_doc(o, v_now);
end $$;
