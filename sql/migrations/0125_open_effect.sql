-- A retry goes back to an earlier step when the failed one says so. It must not while the
-- failed step has sent something whose outcome nobody knows: the earlier step would decide
-- anew, and the same change would be sent a second time under another name. The step is
-- resumed where it is; it looks for what it has sent, or asks.

create or replace function op_revive(o operation, p_now timestamptz) returns operation
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
	if o.resume_step <> o.step and not exists (select 1 from effect
		where op_id = o.id and step = o.step and outcome is null) then
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
