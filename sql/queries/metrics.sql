-- Numbers for /metrics: one row a sample.

-- name: metrics
select 'operations' as metric, state as label, count(*)::bigint as value
from operation group by state
union all
select 'operations_due', '', count(*) from operation
where state = 'live' and due_at <= j_now() and claimed_by is null
union all
select 'operations_queued', '', count(*) from operation where state = 'live' and queued
union all
select 'operations_lease_passed', '', count(*) from operation
where state = 'live' and due_at <= j_now() and claimed_by is not null
union all
select 'due_age_ms', '', coalesce(max(j_ms(j_now()) - j_ms(due_at)), 0) from operation
where state = 'live' and due_at <= j_now()
union all
select 'effects', class || '/' || coalesce(outcome, 'unknown'), count(*)
from effect group by class, outcome
union all
select 'audit_unchained', '', count(*) from audit where chain_no is null
order by 1, 2
