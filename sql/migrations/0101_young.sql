-- What a claim knows of the ledger: things in the cloud that tags cannot tell, and what
-- was made lately. Lists and reads of the cloud miss what is young, so that their word
-- for its absence counts only when it is no longer young.

create function op_ledger(p_cluster text, p_now timestamptz) returns jsonb
language sql stable as $$
	select coalesce(jsonb_agg(jsonb_build_object('type', type, 'id', id, 'state', state,
		'made_ms', least(j_ms(made_at), j_ms(p_now))) order by seq desc), '[]')
	from resource where cluster = p_cluster and state <> 'gone'
		and type !~ '^(kubernetes|helm):' and type <> 's3:object'
		-- VISIBILITY_MS is ten minutes at most.
		and (made_at > p_now - interval '10 minutes' or type in ('ec2:subnet',
			'ec2:vpc-cidr', 'cloudformation:stack', 'sagemaker:cluster',
			'iam:oidc-provider'))
$$;

create or replace function op_claim_doc(o operation, p_now timestamptz) returns jsonb
language plpgsql as $$
declare
	v_blind bigint := op_blind_ms(o.blind_since, p_now);
	c operation;
	e effect;
begin
	select * into e from effect where op_id = o.id and step = o.step and outcome is null
	order by issued_at desc limit 1;
	select * into c from operation where parent_id = o.id and stage = o.step;
	return jsonb_build_object('op_id', o.id, 'gen', o.claim_gen, 'root_id', o.root_id,
		'parent_id', o.parent_id, 'kind', o.kind, 'target', o.target, 'step', o.step,
		'input', o.input, 'data', o.data, 'answer', o.answer, 'attempt', o.attempt,
		'waits', o.waits, 'try', o.visit, 'cancel_requested', o.cancel_requested,
		'cancel_undo', o.cancel_undo, 'now_ms', j_ms(p_now),
		'created_ms', j_ms(o.created_at), 'step_since_ms', j_ms(o.step_since),
		'blind_ms', coalesce(o.blind_ms, 0) + v_blind, 'blind_since_ms', j_ms(o.blind_since),
		'deadline_ms', j_ms(o.deadline_at) + v_blind, 'issued', e.op_id is not null,
		'issued_at_ms', j_ms(e.issued_at), 'issued_item', e.item,
		'issued_epoch', e.epoch, 'child_id', c.id,
		'child_state', c.state, 'child_result', c.result, 'child_error', c.error,
		'ledger', op_ledger(o.cluster, p_now));
end $$;
