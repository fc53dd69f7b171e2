-- The journal: operations, their effects, events, locks and idempotency keys.

create table operation (
	id text primary key,            -- op_ and 26 characters that sort by age
	kind text not null,             -- stored name of the kind
	title text not null,            -- of the kind, for people
	target text not null,           -- what it works on, mostly the cluster's name
	cluster text not null,          -- the cluster it belongs to, for lists
	input jsonb not null,           -- decoded and defaulted; secrets as references
	digest text not null,           -- over kind, target and input
	principal text not null,        -- who
	actor_name text not null,       -- who, in words, as known at submit
	face text not null,             -- rest, mcp, console
	capability text,                -- the API operation that submitted it
	keyed boolean not null,         -- came with an idempotency key
	plan_digest text,               -- the approved plan it is bound to
	traceparent text,               -- W3C trace context of the request

	parent_id text references operation, -- the pipeline it is a stage of
	stage text,                     -- the parent's step that spawned it
	root_id text not null,          -- outermost parent, or itself: owner of locks
	undo boolean not null default false, -- a stage that undoes a cancelled parent

	state text not null check (state in
		('live', 'held', 'succeeded', 'failed', 'cancelled')),
	step text not null,             -- where it stands: the stored contract
	phase text not null,            -- the phase of that step
	phases jsonb not null,          -- [{name,title,state,started_at,ended_at}]
	data jsonb not null default '{}', -- what steps keep between claims
	attempt int not null default 0, -- tries of this step after failures
	waits int not null default 0,   -- looks of the present wait
	step_since timestamptz,         -- when the step was first claimed
	visit int not null default 0,   -- counts arrivals at a step: by advance, goto or retry
	waiting_for text,               -- one sentence, or null
	resume_step text,               -- where a retry goes on
	resume_phase text,

	due_at timestamptz not null,    -- not before; of a claimed one: end of the lease
	claim_gen bigint not null default 0, -- the fence: grows with every claim
	claimed_by text,                -- worker of the live claim; null: nobody's
	wake boolean not null default false, -- look again as soon as the claim settles

	lock_keys text[] not null default '{}', -- of a root: keys it needs, sorted
	queued boolean not null default false, -- waits for its locks
	cancel_requested boolean not null default false,
	cancel_undo boolean not null default false, -- and undo what was made
	question jsonb,                 -- held: {question,evidence,choices}
	answer jsonb,                   -- of the step's question, until it is consumed
	held_at timestamptz,            -- held time does not count against deadlines
	deadline_s bigint not null,     -- length the kind allows
	deadline_at timestamptz not null,
	children jsonb,                 -- [{id,kind,title,stage,state}] as last changed
	result jsonb,
	error jsonb,                    -- {code,title,detail,fix,retry,cause[],phase,step}

	created_at timestamptz not null,
	updated_at timestamptz not null,
	ended_at timestamptz,
	version bigint not null default 0, -- grows with every visible change
	doc text not null default '',   -- the operation as faces show it, ready to send
	check ((ended_at is null) = (state in ('live', 'held'))),
	check ((state = 'held') = (question is not null)),
	check ((parent_id is null) = (stage is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- The claim. Ends with the tie-breaker: without it, rows that share a due time
-- are all sorted.
create index operation_due on operation (due_at, id) where state = 'live';
create unique index operation_stage on operation (parent_id, stage)
	where parent_id is not null;
-- A double click without a key is one operation. One that is being cancelled is
-- not what a new request asks for.
create unique index operation_unkeyed_open on operation (principal, kind, target, digest)
	where state in ('live', 'held') and parent_id is null and not keyed
		and not cancel_requested;
create index operation_open on operation (principal, kind, target, digest)
	where state in ('live', 'held') and parent_id is null;
create index operation_cluster on operation (cluster, id);
create index operation_state on operation (state, id);

-- The ledger of mutations: a row is stored before its call is sent.
create table effect (
	op_id text not null references operation,
	step text not null,
	item text not null,             -- of steps with several objects; else ''
	epoch int not null,             -- grows after a definite refusal, and on a new visit
	visit int not null,             -- visit of the step in which the epoch began
	class text not null check (class in
		('token', 'named', 'tagged', 'convergent', 'once')),
	name text not null,             -- "eks:CreateCluster"
	token text not null,            -- function of (operation, step, item, epoch)
	digest text not null,           -- of the request; frozen with a token
	request jsonb,                  -- masked
	gen bigint not null,            -- claim that issued it last
	issues int not null default 1,  -- how often it was handed out for sending
	first_issued_at timestamptz not null,
	issued_at timestamptz not null, -- latest issue: visibility windows count from it
	outcome text check (outcome in ('done', 'refused')), -- null: unknown
	ended_at timestamptz,
	response jsonb,                 -- what absorb needs after a crash
	request_id text,
	primary key (op_id, step, item, epoch),
	check ((outcome is null) = (ended_at is null))
);
create index effect_open on effect (op_id, step) where outcome is null;

-- What happened, in order; replaying it rebuilds state, step and phase.
create table event (
	op_id text not null references operation,
	seq bigint not null,            -- numbered under the operation's row lock
	at timestamptz not null,
	what text not null,
	state text,                     -- set where the event changes it
	step text,
	phase text,
	data jsonb not null,
	primary key (op_id, seq)
);

-- Keys that open operations hold or wait for. All of an operation's rows are
-- held, or none is.
create table lock (
	key text not null,              -- "cluster/demo/update"
	op_id text not null references operation, -- a root
	held boolean not null,          -- false: in the queue
	since timestamptz not null,
	primary key (key, op_id)
);
create unique index lock_holder on lock (key) where held;
create index lock_operation on lock (op_id);

-- Idempotency keys of submit, cancel, retry and answer; kept for 30 days.
create table idempotency (
	principal text not null,
	key text not null,
	digest text not null,           -- over verb, operation and arguments
	op_id text not null,
	created_at timestamptz not null,
	primary key (principal, key)
);
create index idempotency_age on idempotency (created_at);

-- Appends one line to an operation's history. The caller holds its row lock.
create function op_log(p_op text, p_now timestamptz, p_what text,
	p_data jsonb default '{}', p_state text default null, p_step text default null,
	p_phase text default null) returns void language plpgsql as $$
begin
	insert into event (op_id, seq, at, what, state, step, phase, data)
	select p_op, coalesce((select max(seq) from event where op_id = p_op), 0) + 1,
		p_now, p_what, p_state, p_step, p_phase, coalesce(p_data, '{}');
end $$;
