-- Tells who watches that the catalog has changed: the console's live channel. A
-- channel of its own, so that no poller wakes for it.

create function catalog_told() returns trigger language plpgsql as $$
declare
	r record;
	v jsonb;
begin
	if tg_table_name = 'catalog' then
		-- Of thousands of nodes the refresh tells itself, a page at a time.
		if tg_op = 'DELETE' then
			if old.kind = 'node' then
				return null;
			end if;
		elsif new.kind = 'node' then
			return null;
		end if;
	end if;
	if tg_op = 'DELETE' then
		r := old;
	else
		r := new;
	end if;
	v := to_jsonb(r);
	if tg_op = 'UPDATE' and v - 'updated_at' - 'observed_at'
		= to_jsonb(old) - 'updated_at' - 'observed_at' then
		return null;
	end if;
	-- A notification holds 8000 bytes; a longer name must not undo what it tells of.
	perform pg_notify('instantstart_catalog', json_build_object('t', 'catalog',
		'what', case when tg_table_name = 'catalog' then
			case v->>'kind' when 'instance_group' then 'group' else v->>'kind' end
			else tg_table_name::text end,
		'cluster', left(coalesce(v->>'cluster', v->>'name'), 500),
		'name', left(coalesce(v->>'name', v->>'id'), 500))::text);
	return null;
end $$;

create trigger catalog_told after insert or update or delete on catalog
	for each row execute function catalog_told();
create trigger cluster_told after insert or update or delete on cluster
	for each row execute function catalog_told();
create trigger resource_told after insert or update or delete on resource
	for each row execute function catalog_told();
