-- How groups and nodes get into the catalog: a look at the whole of a cluster, page
-- by page. Any number of pollers share it, and one that dies is followed by another
-- that goes on at the same page. It changes nothing in the cloud, so it is no
-- operation: nobody has asked for it and nobody wants it in a list.

create table refresh (
	cluster text primary key,
	phase text not null default 'idle', -- eks, groups, nodes, kube_nodes, kube_pods, sum
	cursor text,                        -- of the phase's next page
	data jsonb not null default '{}',   -- how Kubernetes is reached
	due_at timestamptz not null,        -- the next page, or the next round
	gen bigint not null default 0,      -- the fence, as operation.claim_gen
	claimed_until timestamptz,
	round bigint not null default 0,
	started_at timestamptz,             -- this round, or the last one
	before_at timestamptz,              -- the last round before it that came to its end
	finished_at timestamptz,            -- the last one that came to its end
	nodes bigint not null default 0,    -- found by the last one; counting takes a while
	calls bigint not null default 0,    -- to AWS, of this round
	attempt int not null default 0,
	error text                          -- why the last page could not be had
);

-- What people want to see, apart from the row that pollers hold.
create table refresh_wish (
	cluster text primary key,
	wanted_at timestamptz, -- a look that begins later answers it
	looked_at timestamptz  -- somebody has looked at the nodes
);

-- When AWS may be asked next: one row for the account.
create table refresh_pace (
	one boolean primary key default true check (one),
	next_at timestamptz not null
);
insert into refresh_pace values (true, 'epoch');

-- What Kubernetes shows of an instance, summed up over pages.
create table node_use (
	cluster text not null,
	instance_id text not null,
	round bigint not null,
	pods bigint not null default 0,
	gpus bigint not null default 0,
	efas bigint not null default 0,
	primary key (cluster, instance_id)
);

-- What has changed on a node from one look to the next.
create table node_change (
	cluster text not null,
	node text not null,  -- its catalog row
	at timestamptz not null,
	member text not null,
	was text,
	now text
);
create index node_change_node on node_change (cluster, node, at);

create index catalog_node_group on catalog (cluster, (observed->>'group'), name)
	where kind = 'node';
create index catalog_node_instance on catalog (cluster, (observed->>'instance_id'))
	where kind = 'node';

-- A look that begins from now on is wanted.
create function refresh_want(p_cluster text) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	insert into refresh_wish (cluster) select p_cluster
	where exists (select 1 from cluster where name = p_cluster) on conflict do nothing;
	-- Who holds the row wishes the same at this moment: nobody waits for it.
	perform 1 from refresh_wish where cluster = p_cluster for update skip locked;
	if found then
		update refresh_wish set wanted_at = j_now() where cluster = p_cluster;
		perform pg_notify('instantstart', 'refresh'); -- no operation: pollers look
	end if;
end $$;

-- Somebody looks: written twice a minute at most. Always true.
create function refresh_look(p_cluster text) returns boolean
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	if exists (select 1 from refresh_wish where cluster = p_cluster
		and looked_at > j_now() - interval '30 seconds') then
		return true;
	end if;
	insert into refresh_wish as w (cluster, looked_at) select name, j_now() from cluster
	where name = p_cluster
	on conflict (cluster) do update set looked_at = excluded.looked_at;
	return true;
end $$;

create function refresh_is_active(p_cluster text, w refresh_wish, p_now timestamptz)
returns boolean language sql stable as $$
	select coalesce(w.looked_at > p_now - interval '5 minutes', false)
		or exists (select 1 from operation where cluster = p_cluster and state = 'live')
$$;

-- Whether a round is to begin: in its turn, more often while somebody looks or an
-- operation is at work, at once when wanted. After an error only in its turn.
create function refresh_is_due(r refresh, w refresh_wish, p_active_ms bigint,
	p_now timestamptz) returns boolean language sql stable as $$
	select p_now >= r.due_at or (r.error is null and (
		coalesce(w.wanted_at > r.started_at, false) or (
			p_now >= j_after(r.started_at, p_active_ms)
			and refresh_is_active(r.cluster, w, p_now))))
$$;

-- When the last look began that came to its end: one that was given up half way has
-- seen nothing of the rest. null: there was none.
create function refresh_whole(r refresh) returns timestamptz language sql immutable as $$
	select case when r.phase = 'idle' and r.finished_at >= r.started_at
		then r.started_at else r.before_at end
$$;

-- Takes a turn at AWS: 0, or how long it is until the next one.
create function refresh_turn(p_gap_ms bigint, p_now timestamptz) returns bigint
language plpgsql as $$
declare
	v_next timestamptz;
begin
	select next_at into v_next from refresh_pace for update;
	if v_next > p_now and v_next < j_after(p_now, p_gap_ms * 2) then
		return greatest(1, j_ms(v_next) - j_ms(p_now));
	end if;
	update refresh_pace set next_at = j_after(p_now, p_gap_ms);
	return 0;
end $$;

-- The next page of some cluster. null: nothing is due; {"wait_ms"}: it is not our
-- turn yet.
create function refresh_claim(p_lease_ms bigint, p_active_ms bigint, p_gap_ms bigint)
returns jsonb language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_cluster text;
	v_wait bigint := 0;
	r refresh;
begin
	insert into refresh (cluster, due_at) select name, v_now from cluster c
	where c.hyperpod_name is not null
		and not exists (select 1 from refresh x where x.cluster = c.name)
	on conflict do nothing;
	delete from refresh x where not exists (select 1 from cluster c where c.name = x.cluster);
	select x.cluster into v_cluster from refresh x left join refresh_wish w using (cluster)
	where (x.claimed_until is null or x.claimed_until <= v_now)
		and case x.phase when 'idle' then refresh_is_due(x, w, p_active_ms, v_now)
			else x.due_at <= v_now end
	order by x.due_at, x.cluster limit 1 for update of x skip locked;
	if v_cluster is null then
		return (select jsonb_build_object('wait_ms', greatest(1, j_ms(min(due_at)) - j_ms(v_now)))
			from refresh where phase <> 'idle' and claimed_until is null having count(*) > 0);
	end if;
	select * into r from refresh where cluster = v_cluster;
	if r.phase in ('idle', 'eks', 'groups', 'nodes') then
		v_wait := refresh_turn(p_gap_ms, v_now);
		if v_wait > 0 then
			return jsonb_build_object('wait_ms', v_wait);
		end if;
		r.calls := case when r.phase = 'idle' then 1 else r.calls + 1 end;
	end if;
	if r.phase = 'idle' then
		r.before_at := refresh_whole(r);
		r.phase := 'eks';
		r.cursor := null;
		r.attempt := 0;
		r.round := r.round + 1;
		r.started_at := v_now;
	end if;
	update refresh x set phase = r.phase, cursor = r.cursor, attempt = r.attempt,
		round = r.round, before_at = r.before_at, started_at = r.started_at, calls = r.calls,
		gen = x.gen + 1, claimed_until = j_after(v_now, p_lease_ms)
	where x.cluster = v_cluster returning x.gen into r.gen;
	return (select jsonb_build_object('cluster', name, 'gen', r.gen, 'phase', r.phase,
		'cursor', r.cursor, 'attempt', r.attempt, 'data', r.data,
		'eks_name', coalesce(eks_name, name), 'hyperpod_name', hyperpod_name)
		from cluster where name = v_cluster);
end $$;

create function refresh_fenced(p_cluster text, p_gen bigint) returns refresh
language plpgsql as $$
declare
	r refresh;
begin
	select * into r from refresh where cluster = p_cluster for update;
	if not found or r.gen <> p_gen or r.claimed_until is null then
		perform j_refuse('IS001', format('Another worker refreshes %s.', p_cluster));
	end if;
	return r;
end $$;

create function node_note(p_cluster text, p_node text, p_was jsonb, p_now jsonb,
	p_at timestamptz) returns void language sql as $$
	insert into node_change
	select p_cluster, p_node, p_at, m, p_was#>>path, p_now#>>path
	from (values ('status', '{status}'::text[]), ('instance', '{instance_id}'),
		('health', '{kubernetes,health}'), ('ready', '{kubernetes,ready}'),
		('schedulable', '{kubernetes,schedulable}'), ('boot', '{kubernetes,boot_id}'))
		as t (m, path)
	where p_was#>>path is not null and p_now#>>path is not null
		and p_was#>>path <> p_now#>>path
$$;

-- Writes one row if it has changed; true: it has. Rows are looked up one by one, by
-- their key: a join with a page is planned before anybody knows how many there are.
create function node_write(p_cluster text, p_name text, p_was jsonb, p_now jsonb,
	p_at timestamptz) returns boolean language plpgsql as $$
begin
	if p_was = p_now then
		update catalog set observed_at = p_at
		where kind = 'node' and cluster = p_cluster and name = p_name;
		return false;
	end if;
	perform node_note(p_cluster, p_name, p_was, p_now, p_at);
	update catalog set observed = p_now, observed_at = p_at, updated_at = p_at
	where kind = 'node' and cluster = p_cluster and name = p_name;
	return true;
end $$;

-- Another instance begins with nothing of the one before.
create function refresh_nodes(r refresh, p_rows jsonb, p_at timestamptz) returns void
language plpgsql as $$
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
			when v_was->>'instance_id' = i.observed->>'instance_id' then v_was || i.observed
			else i.observed end, p_at) then
			continue;
		end if;
		v_n := v_n + 1;
		v_one := i.name;
	end loop;
	perform node_tell(r.cluster, v_n, v_one);
end $$;

-- By instance: {instance_id, kubernetes}.
create function refresh_kube_nodes(r refresh, p_rows jsonb, p_at timestamptz) returns void
language plpgsql as $$
declare
	i record;
	v_name text;
	v_was jsonb;
	v_n bigint := 0;
	v_one text;
begin
	insert into node_use as u (cluster, instance_id, round)
	select r.cluster, instance_id, r.round
	from jsonb_to_recordset(p_rows) as v (instance_id text)
	on conflict (cluster, instance_id) do update
		set round = excluded.round, pods = 0, gpus = 0, efas = 0;
	for i in select instance_id, kubernetes
		from jsonb_to_recordset(p_rows) as v (instance_id text, kubernetes jsonb) loop
		select name, observed into v_name, v_was from catalog where kind = 'node'
			and cluster = r.cluster and observed->>'instance_id' = i.instance_id;
		if found and node_write(r.cluster, v_name, v_was,
			v_was || jsonb_build_object('kubernetes', i.kubernetes), p_at) then
			v_n := v_n + 1;
			v_one := v_name;
		end if;
	end loop;
	perform node_tell(r.cluster, v_n, v_one);
end $$;

-- By instance: {instance_id, pods, gpus, efas}, of this page's pods.
create function refresh_kube_pods(r refresh, p_rows jsonb) returns void
language plpgsql as $$
declare
	i record;
begin
	for i in select * from jsonb_to_recordset(p_rows) as v (instance_id text, pods bigint,
		gpus bigint, efas bigint) loop
		update node_use set pods = pods + i.pods, gpus = gpus + i.gpus, efas = efas + i.efas
		where cluster = r.cluster and instance_id = i.instance_id and round = r.round;
	end loop;
end $$;

-- One news for a page, not one for each of thousands of rows.
create function node_tell(p_cluster text, p_n bigint, p_one text) returns void
language plpgsql as $$
begin
	if p_n > 0 then
		perform pg_notify('instantstart_catalog', json_build_object('t', 'catalog', 'what',
			'node', 'cluster', p_cluster, 'name',
			case when p_n = 1 then coalesce(p_one, '*') else '*' end)::text);
	end if;
end $$;

-- Sums up some hundred rows from the cursor on; null at the end.
create function refresh_sum(r refresh, p_at timestamptz) returns text
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
			else i.observed - 'kubernetes' - 'use' end;
		continue when v_now = i.observed;
		update catalog set observed = v_now, updated_at = p_at
		where kind = 'node' and cluster = r.cluster and name = i.name;
		v_n := v_n + 1;
	end loop;
	perform node_tell(r.cluster, v_n, null);
	return v_last;
end $$;

-- Gone is what two whole rounds, spaced beyond the lag of lists, have not seen. An
-- operation at work knows better what becomes of its groups.
create function refresh_gone(r refresh, p_spacing_ms bigint, p_at timestamptz) returns void
language plpgsql as $$
declare
	v_n bigint;
begin
	if r.before_at is not null then
		delete from catalog where kind = 'node' and cluster = r.cluster
			and observed_at < r.before_at and observed_at < j_after(p_at, -p_spacing_ms);
		get diagnostics v_n = row_count;
		perform node_tell(r.cluster, v_n, null);
		delete from catalog where kind = 'instance_group' and cluster = r.cluster
			and desired is null and observed_at < r.before_at
			and observed_at < j_after(p_at, -p_spacing_ms)
			and not exists (select 1 from lock where key = 'cluster/' || r.cluster);
	end if;
	delete from node_use where cluster = r.cluster and round < r.round - 1;
	delete from node_change where cluster = r.cluster and at < p_at - interval '30 days';
end $$;

-- The end of a claim. p: cluster, gen, rows[], next (the phase), cursor, data,
-- idle_ms, spacing_ms; or error and due_ms: the page is tried again, or given up.
create function refresh_settle(p jsonb) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
	v_rows jsonb := coalesce(j_some(p->'rows'), '[]');
	r refresh := refresh_fenced(p->>'cluster', (p->>'gen')::bigint);
	g jsonb;
begin
	if p->>'error' is not null then
		update refresh set claimed_until = null, error = p->>'error', attempt = r.attempt + 1,
			phase = coalesce(p->>'next', r.phase),
			cursor = case when p->>'next' is null then r.cursor end,
			due_at = j_after(v_now, (p->>'due_ms')::bigint)
		where cluster = r.cluster;
		return;
	end if;
	case r.phase
	when 'groups' then
		for g in select * from jsonb_array_elements(v_rows) loop
			perform catalog_put('instance_group', r.cluster, g->>'name', null, g->'observed', null);
		end loop;
	when 'nodes' then perform refresh_nodes(r, v_rows, v_now);
	when 'kube_nodes' then perform refresh_kube_nodes(r, v_rows, v_now);
	when 'kube_pods' then perform refresh_kube_pods(r, v_rows);
	else null; end case;
	r.cursor := p->>'cursor';
	if r.phase = 'sum' then
		r.cursor := refresh_sum((select x from refresh x where x.cluster = r.cluster), v_now);
	end if;
	if r.phase = 'sum' and r.cursor is null then
		perform refresh_gone(r, (p->>'spacing_ms')::bigint, v_now);
		update refresh set phase = 'idle', cursor = null, finished_at = v_now, error = null,
			attempt = 0, claimed_until = null, due_at = j_after(v_now, (p->>'idle_ms')::bigint),
			nodes = (select count(*) from catalog where kind = 'node' and cluster = r.cluster)
		where cluster = r.cluster;
		perform node_tell(r.cluster, 2, null);
		return;
	end if;
	update refresh set phase = coalesce(p->>'next', r.phase), cursor = r.cursor,
		data = r.data || coalesce(j_some(p->'data'), '{}'), attempt = 0, claimed_until = null,
		due_at = v_now
	where cluster = r.cluster;
end $$;

-- As faces show a node. missing: the last whole look has not seen it.
create function node_json(c catalog, r refresh) returns json language sql stable as $$
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
		'deep_health_check', c.observed#>>'{kubernetes,deep_health}',
		'pods', c.observed#>'{use,pods}',
		'gpus', c.observed#>'{kubernetes,gpus}', 'gpus_used', c.observed#>'{use,gpus}',
		'efas', c.observed#>'{kubernetes,efas}', 'efas_used', c.observed#>'{use,efas}',
		'launched_at', c.observed->>'launched_at', 'image', c.observed->>'image',
		'missing', coalesce(c.observed_at < refresh_whole(r), false),
		'observed_at', j_text(c.observed_at))
$$;

-- How old what is shown is.
create function refresh_json(p_cluster text) returns json language sql stable as $$
	select json_build_object('state', case when r.phase is null then 'never'
			when r.phase <> 'idle' then 'running'
			when coalesce(w.wanted_at > r.started_at, false) then 'wanted' else 'idle' end,
		'observed_at', j_text(refresh_whole(r)),
		'finished_at', j_text(r.finished_at),
		'age_s', floor(extract(epoch from j_now() - r.finished_at)),
		'calls', r.calls, 'error', r.error)
	from (select p_cluster as cluster) q left join refresh r using (cluster)
		left join refresh_wish w using (cluster)
$$;
