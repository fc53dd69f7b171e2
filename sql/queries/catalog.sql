-- Clusters, catalog rows, resources, cached reads.

-- name: cluster_forget again tells
select cluster_forget($1)::text as left_behind

-- name: cluster_sweep again tells
select cluster_sweep()

-- $1 valid, $2 source, $3 detail, $4 fix.
-- name: credential_note again
select credential_note($1, $2, $3, $4)

-- One row, or none yet. Only what was seen lately counts: pollers may be down.
-- name: credential_state
select valid, source, detail, fix, j_text(since) as since from credential_state
where seen_at > j_now() - interval '2 minutes'

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

-- No row: never fetched. The caller judges the age.
-- name: cache_get
select value::text as value, abs(j_ms(j_now()) - j_ms(fetched_at)) as age_ms,
	j_ms(fetched_at) as fetched_ms
from read_cache where key = $1

-- name: cache_put again
select cache_put($1, $2::jsonb)

-- name: installation_get
select account, region, partition, caller_arn from installation

-- Who we are, and what we made before things said so: {"operation demo op_1": true, …}.
-- The operations are there without their cluster, too.
-- name: identity_get
select id, coalesce((select json_object_agg(key, true) from (
		select concat_ws(' ', what, of_cluster, id) as key from earlier
		union select concat_ws(' ', what, id) from earlier where what = 'operation') e),
	'{}')::text as earlier
from identity

-- name: installation_put again
select installation_put($1, $2, $3, $4)
