-- Clusters as the faces show them: our row, what was observed, what runs.

-- The cluster a request means: by name, or the caller's selection for "-".
-- Names of roles that an earlier rule kept in capitals: they are found by this record.
-- $1 name or "-", $2 principal.
-- name: cluster_mean
select c.name, c.eks_name, c.hyperpod_name, c.origin, c.facts->>'status' as status,
	case when c.name <> lower(c.name) then (select json_agg(r.id order by r.seq)
		from resource r where r.cluster = c.name and r.type = 'iam:role'
			and r.state <> 'gone' and r.id <> lower(r.id)) end as roles
from cluster c
where c.name = case when $1 = '-' then (select cluster from selection where principal = $2)
	else $1 end

-- Names that a misspelt one may have meant.
-- name: cluster_names
select name from cluster order by name limit 500

-- A page: $1 name of the last one seen or null, $2 limit, $3 principal.
-- name: cluster_page
with page as (
	select c.name, json_build_object('name', c.name, 'origin', c.origin,
		'status', seen.status, 'trouble', seen.trouble,
		'observed_at', j_text(refresh_whole(r)), 'eks_name', c.eks_name, 'hyperpod_name', c.hyperpod_name,
		'account', c.account, 'region', c.region,
		'selected', exists (select 1 from selection s
			where s.principal = $3 and s.cluster = c.name),
		'created_at', j_text(c.created_at), 'updated_at', j_text(c.updated_at)) as doc
	from cluster c
	left join refresh r on r.cluster = c.name
	-- What the last whole look saw, if it began after the row was last written.
	left join lateral (select r.data->'eks' as eks, r.data->'hyperpod' as hp
		where refresh_whole(r) > c.updated_at) l on true
	left join lateral (select case when c.facts->>'status' <> 'in_service' then c.facts->>'status'
			when l.eks->>'status' = 'gone' then 'unknown'
			when l.hp->>'status' = 'gone' then 'control_plane_ready'
			when l.hp->>'status' in ('Failed', 'Deleting') then lower(l.hp->>'status')
			else coalesce(c.facts->>'status', 'unknown') end as status,
		array_remove(array[
			case when l.eks->>'status' = 'gone' then format(
				'There is no EKS cluster %s any more: it was deleted outside InstantStart.', c.eks_name) end,
			case when l.eks->>'endpoint' <> c.facts#>>'{eks,endpoint}' then format(
				'The EKS cluster %s is not the one that was recorded: it was replaced outside '
				'InstantStart by another of the same name.', c.eks_name) end,
			case when l.eks->>'status' not in ('gone', 'ACTIVE') then format(
				'The EKS cluster is %s.', l.eks->>'status') end,
			case when l.hp->>'status' = 'gone' and c.facts->>'status' = 'in_service' then format(
				'There is no HyperPod cluster %s any more: it was deleted outside InstantStart.', c.hyperpod_name) end,
			case when l.hp->>'status' in ('Failed', 'Deleting', 'RollingBack') then format(
				'The HyperPod cluster is %s.', l.hp->>'status') end], null) as trouble) seen on true
	where $1::text is null or c.name > $1 order by c.name limit $2::int + 1
), numbered as (
	select *, row_number() over (order by name) as n from page
)
select json_build_object(
	'items', coalesce(json_agg(doc order by name) filter (where n <= $2::int), '[]'),
	'next_cursor', (select name from numbered
		where n = $2::int and exists (select 1 from numbered where n > $2::int)))::text as doc
from numbered

-- Everything known of one cluster. $1 name, $2 principal.
-- name: cluster_overview
select json_build_object('name', c.name, 'origin', c.origin,
	'status', seen.status, 'trouble', seen.trouble,
	'observed_at', j_text(refresh_whole(r)), 'eks_name', c.eks_name,
	'hyperpod_name', c.hyperpod_name, 'account', c.account, 'region', c.region,
	'vpc_id', coalesce(l.eks->>'vpc_id', c.facts#>>'{eks,vpc_id}'),
	'kubernetes_version', coalesce(l.eks->>'version', c.facts#>>'{eks,version}'),
	'endpoint', coalesce(l.eks->>'endpoint', c.facts#>>'{eks,endpoint}'),
	'selected', exists (select 1 from selection s
		where s.principal = $2 and s.cluster = c.name),
	'instance_groups', (select coalesce(json_agg(json_build_object('name', k.name,
			'observed', k.observed, 'observed_at', j_text(k.observed_at)) order by k.name), '[]')
		from catalog k where k.cluster = c.name and k.kind = 'instance_group'),
	'dependencies', (select coalesce(json_agg(json_build_object('name', k.name,
			'observed', k.observed, 'observed_at', j_text(k.observed_at)) order by k.name), '[]')
		from catalog k where k.cluster = c.name and k.kind = 'dependency'),
	'storages', (select coalesce(json_agg(json_build_object('name', k.name,
			'observed', k.observed, 'observed_at', j_text(k.observed_at)) order by k.name), '[]')
		from catalog k where k.cluster = c.name and k.kind = 'storage'),
	'resources', (select coalesce(json_agg(json_build_object('type', r.type, 'id', r.id,
			'arn', r.arn, 'operation', r.op_id, 'made_at', j_text(r.made_at)) order by r.seq), '[]')
		from resource r where r.cluster = c.name and r.state <> 'gone'),
	'operations', (select coalesce(json_agg(json_build_object('id', o.id, 'kind', o.kind,
			'status', op_status(o), 'phase', o.phase) order by o.created_at desc), '[]')
		from operation o where o.cluster = c.name and o.parent_id is null
			and o.state in ('live', 'held')),
	'created_at', j_text(c.created_at), 'updated_at', j_text(c.updated_at))::text as doc
from cluster c
left join refresh r on r.cluster = c.name
-- What the last whole look saw, if it began after the row was last written.
left join lateral (select r.data->'eks' as eks, r.data->'hyperpod' as hp
	where refresh_whole(r) > c.updated_at) l on true
left join lateral (select case when c.facts->>'status' <> 'in_service' then c.facts->>'status'
		when l.eks->>'status' = 'gone' then 'unknown'
		when l.hp->>'status' = 'gone' then 'control_plane_ready'
		when l.hp->>'status' in ('Failed', 'Deleting') then lower(l.hp->>'status')
		else coalesce(c.facts->>'status', 'unknown') end as status,
	array_remove(array[
		case when l.eks->>'status' = 'gone' then format(
			'There is no EKS cluster %s any more: it was deleted outside InstantStart.', c.eks_name) end,
		case when l.eks->>'endpoint' <> c.facts#>>'{eks,endpoint}' then format(
			'The EKS cluster %s is not the one that was recorded: it was replaced outside '
			'InstantStart by another of the same name.', c.eks_name) end,
		case when l.eks->>'status' not in ('gone', 'ACTIVE') then format(
			'The EKS cluster is %s.', l.eks->>'status') end,
		case when l.hp->>'status' = 'gone' and c.facts->>'status' = 'in_service' then format(
			'There is no HyperPod cluster %s any more: it was deleted outside InstantStart.', c.hyperpod_name) end,
		case when l.hp->>'status' in ('Failed', 'Deleting', 'RollingBack') then format(
			'The HyperPod cluster is %s.', l.hp->>'status') end], null) as trouble) seen on true
where c.name = $1

-- Whether a name is taken by an earlier create that has ended: not for the one
-- who repeats it with the same key. $1 name, $2 principal, $3 key or null.
-- name: cluster_taken
select coalesce(c.facts->>'status', 'unknown') as status, o.id as operation,
	o.state as operation_state
from cluster c left join lateral (
	select id, state from operation where target = c.name and parent_id is null
		and kind in ('create_cluster', 'create_eks_control_plane', 'import_cluster')
	order by created_at desc limit 1) o on true
where c.name = $1
	and not exists (select 1 from operation where target = $1 and parent_id is null
		and state in ('live', 'held'))
	and not exists (select 1 from idempotency where principal = $2 and key = $3)
	-- A create that ended before it made anything holds no name: what it was refused
	-- for may be imported, or asked for again in other words.
	and not (c.facts->>'status' = 'creating' and coalesce(o.state, 'failed') in ('failed', 'cancelled')
		and not exists (select 1 from resource where cluster = $1 and state <> 'gone'))

-- The open operation that holds a cluster. $1 name.
-- name: cluster_holder
select o.id, o.kind, o.cancel_requested from lock l join operation o on o.id = l.op_id
where l.key = 'cluster/' || $1

-- What a delete must know that tags cannot tell. $1 name.
-- name: cluster_owned
select coalesce(json_agg(json_build_object('type', type, 'id', id) order by seq desc), '[]')::text
	as doc
from resource where cluster = $1 and state <> 'gone'
	and type in ('ec2:subnet', 'ec2:vpc-cidr', 'cloudformation:stack', 'sagemaker:cluster',
		'iam:oidc-provider')

-- Clusters whose groups are in a subnet that we made for this one. $1 name.
-- name: cluster_sharers
select k.cluster, min(k.name) as instance_group, min(r.id) as subnet
from resource r join catalog k on k.kind = 'instance_group' and k.cluster <> r.cluster
	and strpos(k.observed::text, '"' || r.id || '"') > 0
where r.cluster = $1 and r.type = 'ec2:subnet' and r.state <> 'gone'
group by k.cluster order by k.cluster

-- Names of what a cluster has: $1 cluster, $2 kind.
-- name: catalog_names
select name from catalog where cluster = $1 and kind = $2 order by name limit 500
