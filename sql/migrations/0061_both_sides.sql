-- A node is what SageMaker lists and what Kubernetes has. Each without the other is a
-- row, with since when; numbers say which side they count.

alter table refresh add column joined bigint not null default 0;
alter table refresh add column no_node bigint not null default 0;
alter table refresh add column no_instance bigint not null default 0;

-- Kubernetes has it, and SageMaker lists no such instance. A row of its own goes by the
-- node's name: those of instances go by logical id or instance id.
create function node_is_alone(p_observed jsonb) returns boolean language sql immutable as $$
	select p_observed ? 'no_instance_since'
$$;

create function node_alone(p_was jsonb, p_instance text, p_kubernetes jsonb, p_at timestamptz)
returns jsonb language sql stable as $$
	select jsonb_build_object('group', coalesce(p_kubernetes->>'group', ''))
		|| coalesce(p_was - 'no_node_since', '{}')
		|| jsonb_build_object('instance_id', p_instance, 'status', 'NoInstance',
			'kubernetes', p_kubernetes, 'no_instance_since',
			coalesce(p_was->>'no_instance_since', j_text(p_at)))
$$;

-- Another instance begins with nothing of the one before; one that is listed is not alone.
create or replace function refresh_nodes(r refresh, p_rows jsonb, p_at timestamptz)
returns void language plpgsql as $$
declare
	i record;
	v_was jsonb;
	v_n bigint := 0;
	v_one text;
begin
	for i in select name, observed
		from jsonb_to_recordset(p_rows) as v (name text, observed jsonb) loop
		select observed into v_was from catalog
		where kind = 'node' and cluster = r.cluster and name = i.name;
		if not found then
			insert into catalog (kind, cluster, name, observed, observed_at, created_at, updated_at)
			values ('node', r.cluster, i.name, i.observed, p_at, p_at, p_at);
		elsif not node_write(r.cluster, i.name, v_was, case
			when v_was->>'instance_id' = i.observed->>'instance_id'
			then (v_was - 'no_instance_since') || i.observed
			else i.observed end, p_at) then
			continue;
		end if;
		v_n := v_n + 1;
		v_one := i.name;
	end loop;
	perform node_tell(r.cluster, v_n, v_one);
end $$;

-- One node of Kubernetes finds its row; true: that has changed. Instances of this round
-- have been listed before: a row that is older has none any more.
create function refresh_kube_node(r refresh, p_instance text, p_kubernetes jsonb,
	p_at timestamptz) returns boolean language plpgsql as $$
declare
	c catalog;
	v_now jsonb;
begin
	select * into c from catalog where kind = 'node' and cluster = r.cluster
		and observed->>'instance_id' = p_instance
	order by node_is_alone(observed), observed_at desc limit 1;
	if not found then
		insert into catalog (kind, cluster, name, observed, observed_at, created_at, updated_at)
		values ('node', r.cluster, 'hyperpod-' || p_instance,
			node_alone(null, p_instance, p_kubernetes, p_at), p_at, p_at, p_at);
		return true;
	end if;
	if node_is_alone(c.observed) or c.observed_at < r.started_at then
		v_now := node_alone(c.observed, p_instance, p_kubernetes, p_at);
	else
		v_now := (c.observed - 'no_node_since')
			|| jsonb_build_object('kubernetes', p_kubernetes);
		delete from catalog where kind = 'node' and cluster = r.cluster and name <> c.name
			and observed->>'instance_id' = p_instance and node_is_alone(observed);
	end if;
	return node_write(r.cluster, c.name, c.observed, v_now, p_at);
end $$;

create or replace function refresh_kube_nodes(r refresh, p_rows jsonb, p_at timestamptz)
returns void language plpgsql as $$
declare
	i record;
	v_n bigint := 0;
begin
	insert into node_use as u (cluster, instance_id, round)
	select r.cluster, instance_id, r.round
	from jsonb_to_recordset(p_rows) as v (instance_id text)
	on conflict (cluster, instance_id) do update
		set round = excluded.round, pods = 0, gpus = 0, efas = 0;
	for i in select instance_id, kubernetes
		from jsonb_to_recordset(p_rows) as v (instance_id text, kubernetes jsonb) loop
		if refresh_kube_node(r, i.instance_id, i.kubernetes, p_at) then
			v_n := v_n + 1;
		end if;
	end loop;
	perform node_tell(r.cluster, v_n, null);
end $$;

create or replace function refresh_sum(r refresh, p_at timestamptz) returns text
language plpgsql as $$
declare
	v_last text;
	v_n bigint := 0;
	v_now jsonb;
	i record;
	u record;
begin
	select max(name) into v_last from (select name from catalog where kind = 'node'
		and cluster = r.cluster and (r.cursor is null or name > r.cursor)
		order by name limit 500) x;
	for i in select name, observed from catalog where kind = 'node' and cluster = r.cluster
		and (r.cursor is null or name > r.cursor) and name <= v_last loop
		select pods, gpus, efas into u from node_use where cluster = r.cluster
			and instance_id = i.observed->>'instance_id' and round = r.round;
		v_now := case when found then i.observed || jsonb_build_object('use',
				jsonb_build_object('pods', u.pods, 'gpus', u.gpus, 'efas', u.efas))
			-- Neither node nor instance: as it was, until it is gone.
			when node_is_alone(i.observed) then i.observed
			else (i.observed - 'kubernetes' - 'use') || jsonb_build_object('no_node_since',
				coalesce(i.observed->>'no_node_since', j_text(p_at))) end;
		continue when v_now = i.observed;
		update catalog set observed = v_now, updated_at = p_at
		where kind = 'node' and cluster = r.cluster and name = i.name;
		v_n := v_n + 1;
	end loop;
	perform node_tell(r.cluster, v_n, null);
	return v_last;
end $$;

-- What the last whole look has seen of each side.
create function refresh_count() returns trigger language plpgsql as $$
declare
	r refresh := new;
begin
	select count(*) filter (where not node_is_alone(observed)),
		count(*) filter (where not node_is_alone(observed) and not observed ? 'no_node_since'
			and observed_at >= r.started_at),
		count(*) filter (where not node_is_alone(observed) and observed ? 'no_node_since'),
		count(*) filter (where node_is_alone(observed))
	into new.nodes, new.joined, new.no_node, new.no_instance
	from catalog where kind = 'node' and cluster = new.cluster;
	return new;
end $$;
create trigger refresh_counts before update of finished_at on refresh for each row
	when (new.finished_at is distinct from old.finished_at) execute function refresh_count();

-- Whether something is wrong with it: what the filter asks and what the row says are one.
create function node_trouble(p jsonb) returns text[] language sql immutable as $$
	select array_remove(array[
		case when p ? 'no_instance_since' then 'no instance of the cluster is behind it' end,
		case when p ? 'no_node_since' and p->>'status' = 'Running'
			then 'it is not in Kubernetes' end,
		case when p->>'status' in ('Failure', 'NotFound') then 'SageMaker says ' || (p->>'status') end,
		case when p#>>'{kubernetes,health}' not in ('Schedulable', 'Unknown')
			then 'the health agent says ' || (p#>>'{kubernetes,health}') end,
		case when p#>>'{kubernetes,deep_health}' = 'Failed' then 'a deep health check failed' end,
		case when jsonb_array_length(coalesce(p#>'{kubernetes,faults}', '[]')) > 0
			then (select string_agg(f, ', ') from jsonb_array_elements_text(p#>'{kubernetes,faults}') f) end,
		case when p#>>'{kubernetes,ready}' = 'false' then 'Kubernetes says it is not ready' end
	], null)
$$;

create or replace function node_json(c catalog, r refresh) returns json language sql stable as $$
	select json_build_object('name', coalesce('hyperpod-' || nullif(c.observed->>'instance_id', ''),
			c.name),
		'instance_id', nullif(c.observed->>'instance_id', ''),
		'logical_id', c.observed->>'logical_id', 'group', c.observed->>'group',
		'instance_type', c.observed->>'instance_type', 'status', c.observed->>'status',
		'message', c.observed->>'message',
		'zone', coalesce(c.observed#>>'{kubernetes,zone}', c.observed->>'zone'),
		'health', c.observed#>>'{kubernetes,health}',
		'ready', (c.observed#>'{kubernetes,ready}'),
		'schedulable', c.observed#>'{kubernetes,schedulable}',
		'taints', coalesce(c.observed#>'{kubernetes,taints}', '[]'),
		'faults', coalesce(c.observed#>'{kubernetes,faults}', '[]'),
		'trouble', to_json(node_trouble(c.observed)),
		'deep_health_check', c.observed#>>'{kubernetes,deep_health}',
		'pods', c.observed#>'{use,pods}',
		'gpus', c.observed#>'{kubernetes,gpus}', 'gpus_used', c.observed#>'{use,gpus}',
		'efas', c.observed#>'{kubernetes,efas}', 'efas_used', c.observed#>'{use,efas}',
		'launched_at', c.observed->>'launched_at', 'image', c.observed->>'image',
		'missing', coalesce(c.observed_at < refresh_whole(r), false),
		'no_node_since', c.observed->>'no_node_since',
		'no_instance_since', c.observed->>'no_instance_since',
		'observed_at', j_text(c.observed_at))
$$;

-- A look of a face's own at one node: the list must not say otherwise a moment later.
create function node_seen(p_cluster text, p_instance text, p_kubernetes jsonb, p_status text)
returns void language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	c catalog;
	v_now jsonb;
begin
	select * into c from catalog where kind = 'node' and cluster = p_cluster
		and observed->>'instance_id' = p_instance and not node_is_alone(observed)
	for update skip locked;
	if not found then
		return;
	end if;
	v_now := c.observed || jsonb_build_object('status', coalesce(p_status, c.observed->>'status'));
	if p_kubernetes is not null then
		v_now := (v_now - 'no_node_since') || jsonb_build_object('kubernetes', p_kubernetes);
	end if;
	if node_write(p_cluster, c.name, c.observed, v_now, j_now()) then
		perform node_tell(p_cluster, 1, c.name);
	end if;
end $$;

-- The end of an operation on a cluster: what it did to nodes is in the rows at once,
-- and a look that begins after it is wanted for the rest.
create function operation_shows() returns trigger
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	n jsonb;
	v_n bigint := 0;
	v_gone bigint := 0;
	v_one bigint;
begin
	if new.kind in ('replace_nodes', 'delete_nodes') then
		for n in select * from jsonb_array_elements(case jsonb_typeof(new.data->'nodes')
			when 'array' then new.data->'nodes' else '[]' end) loop
			continue when n->>'state' is distinct from 'done' or coalesce(n->>'id', '') = '';
			if new.kind = 'delete_nodes' then
				delete from catalog where kind = 'node' and cluster = new.cluster
					and observed->>'instance_id' = n->>'id' and not node_is_alone(observed);
				get diagnostics v_one = row_count;
				v_gone := v_gone + v_one;
			elsif n->>'new_id' is not null then
				update catalog set observed = (observed - 'kubernetes' - 'use' - 'message')
					|| jsonb_build_object('instance_id', n->>'new_id', 'status', 'Running'),
					observed_at = j_now(), updated_at = j_now()
				where kind = 'node' and cluster = new.cluster
					and observed->>'instance_id' = n->>'id';
			end if;
			v_n := v_n + 1;
		end loop;
		-- The number says what the rows do. A look that is being written counts anew
		-- itself, and must not be waited for with rows in hand that it needs.
		perform 1 from refresh where cluster = new.cluster and v_gone > 0
		for update skip locked;
		if found then
			update refresh set nodes = greatest(0, nodes - v_gone),
				joined = greatest(0, joined - v_gone)
			where cluster = new.cluster;
		end if;
		perform node_tell(new.cluster, v_n, null);
	end if;
	perform refresh_want(new.cluster);
	return null;
end $$;
create trigger operation_shows after update of ended_at on operation for each row
	when (new.ended_at is not null and old.ended_at is null and new.cluster is not null)
	execute function operation_shows();

-- How old what is shown is, and how old it may become before it is no longer true.
create or replace function refresh_json(p_cluster text) returns json language sql stable as $$
	select json_build_object('state', case when r.phase is null then 'never'
			when r.phase <> 'idle' then 'running'
			when coalesce(w.wanted_at > r.started_at, false) then 'wanted' else 'idle' end,
		'observed_at', j_text(refresh_whole(r)),
		'finished_at', j_text(r.finished_at),
		'age_s', floor(extract(epoch from j_now() - r.finished_at)),
		'joined', r.joined, 'no_node', r.no_node, 'no_instance', r.no_instance,
		'pollers', (heartbeat_look('poller')).alive,
		'pollers_seen_at', (heartbeat_look('poller')).last,
		'calls', r.calls, 'error', r.error)
	from (select p_cluster as cluster) q left join refresh r using (cluster)
		left join refresh_wish w using (cluster)
$$;

-- Whether a whole look has come to its end that began at that moment or later.
create function refresh_is_newer(p_cluster text, p_ms bigint) returns boolean
language sql stable as $$
	select exists (select 1 from refresh r where cluster = p_cluster and r.phase = 'idle'
		and r.finished_at >= r.started_at and j_ms(r.started_at) >= p_ms)
$$;

grant execute on function node_seen(text, text, jsonb, text), node_trouble(jsonb),
	node_is_alone(jsonb), refresh_is_newer(text, bigint) to instantstart_faces;
