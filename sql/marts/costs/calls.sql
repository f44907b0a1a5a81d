-- One row per run, purpose, provider and model: its calls, what became of the attempts at them, and how long answers took.
with

outcomes as (

    select
        run_tag, purpose, provider, model_name,
        count(distinct call_id) as count_calls,
        count(*) as count_attempts,
        count(distinct case when status = 'answered' then call_id end) as count_answered_calls,
        count(case when status <> 'answered' then 1 end) as count_errors,
        count(case when status = 'refused' then 1 end) as count_refused,
        count(case when status = 'empty' then 1 end) as count_empty,
        count(case when status = 'oversize' then 1 end) as count_oversize,
        count(case when status = 'failed' then 1 end) as count_failed,
        count(case when status = 'stopped' then 1 end) as count_stopped,
        count(case when status = 'retried' then 1 end) as count_declined,
        count(case when status = 'ambiguous' then 1 end) as count_ambiguous,
        count(case when status = 'unsent' then 1 end) as count_unsent,
        count(case when macros.is_timeout(status, http_status, error) then 1 end) as count_timeouts,
        count(case when http_status = 429 then 1 end) as count_rate_limits

    from staging.stg_calls
    group by run_tag, purpose, provider, model_name

),

-- Turns and verdicts of imports are answers of which no attempt is recorded.
requests as (

    select
        run_tag, purpose, provider, model_name,
        case when status = 'answered' then duration_ms end as duration_ms

    from staging.stg_calls

    union all

    select
        turns.run_tag,
        'turn' as purpose,
        coalesce(debaters.provider, 'unknown') as provider,
        coalesce(debaters.model_name, turns.model_id) as model_name,
        turns.duration_ms

    from staging.stg_turns as turns
    inner join staging.stg_debaters as debaters using (run_tag, model_id)
    where turns.call_id is null

    union all

    select
        verdicts.run_tag,
        'verdict' as purpose,
        coalesce(judges.provider, 'unknown') as provider,
        coalesce(judges.model_name, verdicts.judge_id) as model_name,
        verdicts.duration_ms

    from staging.stg_verdicts as verdicts
    inner join staging.stg_judges as judges using (run_tag, judge_id)
    where verdicts.call_id is null and not judges.is_baseline

),

durations as (

    select
        run_tag, purpose, provider, model_name,
        count(*) as count_requests,
        count(duration_ms) as count_timed,
        quantile_cont(duration_ms, 0.5) as median_duration_ms,
        quantile_cont(duration_ms, 0.9) as p90_duration_ms,
        quantile_cont(duration_ms, 0.95) as p95_duration_ms

    from requests
    group by run_tag, purpose, provider, model_name
    -- Speeches of people, of which nothing is known, were not asked for.
    having provider <> 'unknown' or count(duration_ms) > 0

),

final as (

    select
        durations.run_tag, durations.purpose, durations.provider, durations.model_name,
        coalesce(outcomes.count_calls, durations.count_requests) as count_calls,
        coalesce(outcomes.count_answered_calls, durations.count_requests) as count_answered_calls,
        outcomes.count_attempts,
        outcomes.count_attempts - outcomes.count_calls as count_retries,
        outcomes.count_errors,
        cast(outcomes.count_errors as double) / outcomes.count_attempts as error_rate,
        outcomes.count_refused, outcomes.count_empty, outcomes.count_oversize, outcomes.count_failed,
        outcomes.count_stopped, outcomes.count_declined, outcomes.count_ambiguous, outcomes.count_unsent,
        outcomes.count_timeouts, outcomes.count_rate_limits,
        case when outcomes.count_attempts is null then 'not_recorded' end as attempts_reason,
        durations.count_timed, durations.median_duration_ms, durations.p90_duration_ms, durations.p95_duration_ms,
        case
            when durations.count_timed > 0 then null
            when outcomes.count_answered_calls = 0 then 'no_answer'
            else 'not_recorded'
        end as duration_reason

    from durations
    left join outcomes using (run_tag, purpose, provider, model_name)

)

select * from final
order by run_tag, purpose, provider, model_name
