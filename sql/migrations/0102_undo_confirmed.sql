-- What whoever asked for an undo has confirmed to be lost with it: it goes into the
-- input of the stage that undoes, which refuses what has come since. NULL: not asked.

alter table operation add column undo_confirmed jsonb;

-- A repeat is one of the same order, whatever would be lost by now.
create or replace function order_seen(p jsonb, p_verb text, p_now timestamptz) returns boolean
language sql as $$
	select p->>'idem_key' is not null and idempotency_take(p->>'principal', p->>'idem_key',
		j_sha256(jsonb_build_array(p_verb, p->'op', (p->'args') - 'confirmed')::text),
		p->>'op', p_now) is not null
$$;

create or replace function op_cancel(p jsonb) returns text
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
	if v_undo and p->'args' ? 'confirmed' then
		update operation set undo_confirmed = p#>'{args,confirmed}' where id = o.id;
	end if;
	-- Cancelled already, or asked to: the same once more; undo may be added.
	if o.state <> 'cancelled' and (not o.cancel_requested or (v_undo and not o.cancel_undo)) then
		perform op_cancel_tree(o.id, v_undo, v_now);
	end if;
	perform order_audit(p, 'cancel', 'accepted');
	return op_json(o.id);
end $$;

create function undo_confirmed() returns trigger
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_confirmed jsonb;
begin
	select undo_confirmed into v_confirmed from operation where id = new.parent_id;
	if v_confirmed is not null then
		new.input := new.input || jsonb_build_object('confirmed', v_confirmed);
	end if;
	return new;
end $$;

create trigger undo_confirmed before insert on operation for each row
	when (new.undo) execute function undo_confirmed();
