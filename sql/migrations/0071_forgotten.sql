-- Rows of clusters that are forgotten go, whatever table they are in: a table that gets
-- a column "cluster" is swept by having it. What is kept is history, and what we made
-- that is still in the cloud.

create function cluster_tables() returns setof regclass
language sql stable set search_path = instantstart, pg_temp as $$
	select a.attrelid::regclass from pg_attribute a join pg_class c on c.oid = a.attrelid
	where a.attname = 'cluster' and not a.attisdropped and c.relkind in ('r', 'p')
		and c.relnamespace = 'instantstart'::regnamespace
		and c.relname not in ('operation', 'event', 'effect', 'audit', 'resource',
			'selection') -- what somebody has chosen is answered "there is no such"
$$;

create or replace function cluster_drop(p_name text) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_table regclass;
begin
	for v_table in select cluster_tables() loop
		execute format('delete from %s where cluster = $1', v_table) using p_name;
	end loop;
	delete from cluster where name = p_name;
end $$;

create or replace function cluster_forget(p_name text) returns jsonb
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_op text;
begin
	perform 1 from cluster where name = p_name for update;
	select op_id into v_op from lock where key = 'cluster/' || p_name limit 1;
	if found then
		perform j_refuse('IS409', format('The operation %s is at work on %s.', v_op, p_name),
			jsonb_build_object('field', '/cluster', 'seen', p_name,
				'fix', 'Wait for it, or cancel it.'));
	end if;
	delete from selection where cluster = p_name;
	delete from resource where cluster = p_name and state <> 'made';
	perform cluster_drop(p_name);
	return (select coalesce(jsonb_agg(type || ' ' || id order by seq), '[]') from resource
		where cluster = p_name and state = 'made');
end $$;

-- A look that was under way when its cluster was forgotten may have written since.
-- Whoever makes a cluster may write before its row: an open operation keeps the rows.
create function cluster_sweep() returns bigint
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_table regclass;
	v_n bigint;
	v_all bigint := 0;
begin
	for v_table in select cluster_tables() loop
		execute format('delete from %s t where not exists
			(select 1 from cluster c where c.name = t.cluster) and not exists
			(select 1 from operation o where o.cluster = t.cluster
				and o.state in (''live'', ''held''))', v_table);
		get diagnostics v_n = row_count;
		v_all := v_all + v_n;
	end loop;
	return v_all;
end $$;

revoke execute on function cluster_sweep() from public;
grant execute on function cluster_sweep() to instantstart_poller;
