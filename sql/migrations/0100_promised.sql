-- A call whose answer nobody had, and that a later look found to have come true: the
-- rows of the ledger that its plan told beside it are kept with the intent (request.ledger)
-- and are written now. What an answer says is written by the settlement that has it.

create function effect_observed() returns trigger
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	o operation;
	i jsonb;
begin
	select * into o from operation where id = new.op_id;
	for i in select * from jsonb_array_elements(new.request->'ledger') loop
		if i->>'id' = '*' then
			perform resource_gone(coalesce(i->>'cluster', o.cluster), i->>'type');
		else
			perform resource_put(coalesce(i->>'cluster', o.cluster), o.root_id, i);
		end if;
	end loop;
	return null;
end $$;

create trigger effect_observed after update of outcome on effect for each row
	when (old.outcome is null and new.outcome = 'done'
		and new.response @> '{"observed": true}' and new.request ? 'ledger')
	execute function effect_observed();
