-- Who this installation is. Made once, with the database, and kept with it: everything
-- that we make in the cloud carries it, because a cluster's name alone says nothing: an
-- account can have another installation, with a cluster of the same name.
create table identity (
	one boolean primary key default true check (one),
	id text not null,
	since timestamptz not null
);
insert into identity (id, since) values (gen_random_uuid()::text, j_now());

-- What was made before things carried it: ours by the operation that their tags name, or
-- by the ledger where they have no such tag. Written here and never again. An operation
-- of the list that is still at work goes on tagging as it began, since the service
-- compares its request with the one before.
-- The column is no "cluster": what is forgotten may still be in the cloud.
create table earlier (
	what text not null,       -- operation, or the ledger's type of an object
	of_cluster text not null,
	id text not null,
	primary key (what, of_cluster, id)
);
insert into earlier (what, of_cluster, id)
select distinct 'operation', o.cluster, o.root_id
from effect e join operation o on o.id = e.op_id
where e.name ~ '(Create|Tag)' -- those that carry tags
union
select distinct type, cluster, id from resource
where state <> 'gone' and type ~ '^(kubernetes|helm):';

grant select on identity, earlier to instantstart_faces, instantstart_poller;
