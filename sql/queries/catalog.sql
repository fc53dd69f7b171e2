-- Clusters, catalog rows, resources, cached reads.

-- name: cluster_get
select name, eks_name, hyperpod_name, origin, account, region, endpoint, ca, facts::text as facts,
	json_build_object('name', name, 'eks_name', eks_name, 'hyperpod_name', hyperpod_name,
		'origin', origin, 'account', account, 'region', region, 'endpoint', endpoint,
		'facts', facts, 'created_at', j_text(created_at),
		'updated_at', j_text(updated_at))::text as doc
from cluster where name = $1

-- $1: name of the last one seen, or null.
-- name: cluster_list
with page as (
	select name, json_build_object('name', name, 'eks_name', eks_name,
		'hyperpod_name', hyperpod_name, 'origin', origin, 'account', account,
		'region', region, 'endpoint', endpoint, 'facts', facts,
		'created_at', j_text(created_at), 'updated_at', j_text(updated_at)) as doc
	from cluster where $1::text is null or name > $1 order by name limit $2::int + 1
), numbered as (
	select *, row_number() over (order by name) as n from page
)
select json_build_object(
	'items', coalesce(json_agg(doc order by name) filter (where n <= $2::int), '[]'),
	'next_cursor', (select name from numbered
		where n = $2::int and exists (select 1 from numbered where n > $2::int)))::text as doc
from numbered

-- name: cluster_put
select cluster_put($1, $2::jsonb)

-- name: cluster_forget
select cluster_forget($1)::text as left_behind

-- $1 kind, $2 cluster, $3 name.
-- name: catalog_get
select desired::text as desired, observed::text as observed, j_ms(observed_at) as observed_ms,
	json_build_object('kind', kind, 'cluster', cluster, 'name', name, 'desired', desired,
		'observed', observed, 'observed_at', j_text(observed_at), 'operation', op_id,
		'created_at', j_text(created_at), 'updated_at', j_text(updated_at))::text as doc
from catalog where kind = $1 and cluster = $2 and name = $3

-- $1 kind, $2 cluster or null for all; one row a thing.
-- name: catalog_rows
select kind, cluster, name, desired::text as desired, observed::text as observed,
	j_ms(observed_at) as observed_ms, op_id
from catalog where kind = $1 and ($2::text is null or cluster = $2)
order by cluster, name

-- $1 kind, $2 cluster or null; $3 cursor: "cluster/name" of the last one, or null.
-- name: catalog_list
with page as (
	select cluster || '/' || name as key, json_build_object('kind', kind, 'cluster', cluster,
		'name', name, 'desired', desired, 'observed', observed,
		'observed_at', j_text(observed_at), 'operation', op_id,
		'created_at', j_text(created_at), 'updated_at', j_text(updated_at)) as doc
	from catalog where kind = $1 and ($2::text is null or cluster = $2)
		and ($3::text is null or cluster || '/' || name > $3)
	order by 1 limit $4::int + 1
), numbered as (
	select *, row_number() over (order by key) as n from page
)
select json_build_object(
	'items', coalesce(json_agg(doc order by key) filter (where n <= $4::int), '[]'),
	'next_cursor', (select key from numbered
		where n = $4::int and exists (select 1 from numbered where n > $4::int)))::text as doc
from numbered

-- What is ours and not gone, in the order of teardown: newest first.
-- name: resource_by_cluster
select type, id, arn, op_id, state, seq, data::text as data from resource
where cluster = $1 and state <> 'gone' order by seq desc

-- name: resource_list
select coalesce(json_agg(json_build_object('type', type, 'id', id, 'arn', arn,
	'operation', op_id, 'state', state, 'made_at', j_text(made_at),
	'gone_at', j_text(gone_at)) order by seq desc), '[]')::text as doc
from resource where cluster = $1

-- Everything of ours that is not gone, in all clusters.
-- name: resource_owned
select cluster, type, id, arn, op_id, state from resource
where state <> 'gone' order by cluster, seq

-- No row: never fetched. The caller judges the age.
-- name: cache_get
select value::text as value, j_ms(j_now()) - j_ms(fetched_at) as age_ms,
	j_ms(fetched_at) as fetched_ms
from read_cache where key = $1

-- name: cache_put
select cache_put($1, $2::jsonb)

-- name: cache_drop
select cache_drop($1)

-- name: installation_get
select account, region, partition, caller_arn from installation

-- name: installation_put
select installation_put($1, $2, $3, $4)
