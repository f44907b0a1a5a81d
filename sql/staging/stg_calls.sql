-- One row per attempt at a call.
with

source as (

    select * from raw.calls

),

final as (

    select
        run_tag,
        call_id,
        attempt,
        debate_id,
        step,
        purpose,
        model_id,
        judge_id,
        provider,
        model_name,
        status,
        error,
        http_status,
        sent_at,
        duration_ms,
        prompt_tokens,
        completion_tokens,
        coalesce(total_tokens, prompt_tokens + completion_tokens) as total_tokens,
        cost as cost_usd,
        cost_source,
        possible_cost as possible_cost_usd,
        finish_reason,
        served_model,
        serving_provider,
        generation_id,
        request_sha256

    from source

)

select * from final
