-- Nodes as the catalog has them, and how the catalog gets them.

-- A page. $1 cluster, $2 group and $3 name of the last one seen or null, $4 limit;
-- filters or null: $5 group, $6 status, $7 health, $8 zone, $9 those in trouble.
-- name: node_page again
with page as (
	select c.name, c.observed->>'group' as grp, node_json(c, r) as doc
	from catalog c left join refresh r on r.cluster = c.cluster
	where c.kind = 'node' and c.cluster = $1
		and ($2::text is null or (c.observed->>'group', c.name) > ($2, $3::text))
		and ($5::text is null or c.observed->>'group' = $5)
		and ($6::text is null or c.observed->>'status' = $6)
		and ($7::text is null or c.observed#>>'{kubernetes,health}' = $7)
		and ($8::text is null
			or coalesce(c.observed#>>'{kubernetes,zone}', c.observed->>'zone') = $8)
		and ($9::bool is null or (cardinality(node_trouble(c.observed)) > 0) = $9::bool)
	order by c.observed->>'group', c.name limit $4::int + 1
), numbered as (
	select *, row_number() over (order by grp, name) as n from page
)
select json_build_object(
	'items', coalesce(json_agg(doc order by n) filter (where n <= $4::int), '[]'),
	'next_cursor', (select grp || '/' || name from numbered
		where n = $4::int and exists (select 1 from numbered where n > $4::int)),
	'total', coalesce((select nodes from refresh where cluster = $1), 0),
	'refresh', case when refresh_look($1) then refresh_json($1) end)::text as doc,
	count(*) = 0 as empty
from numbered

-- What nodes have, for a filter that finds none. $1 cluster.
-- name: node_values
select json_build_object(
	'group', coalesce(json_agg(distinct observed->>'group')
		filter (where observed->>'group' is not null), '[]'),
	'status', coalesce(json_agg(distinct observed->>'status')
		filter (where kind = 'node' and observed->>'status' is not null), '[]'),
	'health', coalesce(json_agg(distinct observed#>>'{kubernetes,health}')
		filter (where observed#>>'{kubernetes,health}' is not null), '[]'),
	'zone', coalesce(json_agg(distinct coalesce(observed#>>'{kubernetes,zone}', observed->>'zone'))
		filter (where coalesce(observed#>>'{kubernetes,zone}', observed->>'zone') is not null),
		'[]'))::text as doc
from (
	select kind, observed from catalog where kind = 'node' and cluster = $1
	union all
	select kind, jsonb_build_object('group', name) from catalog
	where kind = 'instance_group' and cluster = $1
	union all
	-- One that is being added has no row yet.
	select 'operation', jsonb_build_object('group', input->>'group_name') from operation
	where cluster = $1 and state in ('live', 'held') and input ? 'group_name') x

-- Both sides of each group, as the last whole look has them; no row before there was one.
-- name: node_joins
select c.observed->>'group' as grp,
	count(*) filter (where not node_is_alone(c.observed) and not c.observed ? 'no_node_since') as joined,
	count(*) filter (where not node_is_alone(c.observed) and c.observed ? 'no_node_since') as no_node,
	count(*) filter (where node_is_alone(c.observed)) as no_instance
from catalog c join refresh r on r.cluster = c.cluster
where c.kind = 'node' and c.cluster = $1 and r.finished_at is not null
group by 1

-- What a look begins after that is asked for now.
-- name: refresh_want again tells
select refresh_want($1), j_ms(j_now()) as ms

-- $2: the moment that refresh_want gave.
-- name: refresh_is_newer
select refresh_is_newer($1, $2::bigint) as newer

-- What a face has just seen of a node: $2 instance, $3 of Kubernetes or null, $4 status.
-- name: node_seen again tells
select node_seen($1, $2, $3::jsonb, $4)

-- $1 lease, $2 interval while somebody looks, $3 gap between calls; all ms.
-- name: refresh_claim once
select refresh_claim($1, $2, $3)::text as claim

-- name: refresh_settle again tells
select refresh_settle($1::jsonb)

-- What we did to a node and what we saw change. $1 cluster, $2 name of its row or
-- null, $3 an array of the ids that requests may have named.
-- name: node_history
select coalesce(json_agg(x order by x->>'at' desc), '[]')::text as doc from (
	select json_build_object('at', j_text(e.at), 'source', 'operation', 'level', 'Info',
		'what', o.kind || ' ' || e.what, 'operation', o.id, 'actor', o.actor_name,
		'detail', coalesce(e.data->>'outcome', e.data->>'waiting_for')) as x
	from operation o join event e on e.op_id = o.id
	where o.cluster = $1 and o.kind in ('reboot_nodes', 'replace_nodes', 'delete_nodes')
		and exists (select 1 from jsonb_array_elements(o.data->'nodes') n
			where array[n->>'asked', n->>'id', n->>'logical_id', n->>'new_id']
				&& array(select jsonb_array_elements_text($3::jsonb)))
		and (e.what in ('submitted', 'call', 'held', 'succeeded', 'failed', 'cancelled')
			or (e.what = 'node'
				and array[e.data->>'node', e.data->>'new_instance_id']
				&& array(select jsonb_array_elements_text($3::jsonb))))
	union all
	select json_build_object('at', j_text(at), 'source', 'observed', 'level',
		case when member = 'health' and now <> 'Schedulable' then 'Warn' else 'Info' end,
		'what', member || ' changed', 'detail', was || ' → ' || now)
	from node_change where cluster = $1 and node = $2
) t (x)
