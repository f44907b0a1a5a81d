-- One row per judge and debater of the same family: the same maker, or the same line of models.
with

configured as (

    select
        run_tag,
        'judge' as role,
        judge_id as id,
        lower(coalesce(model_name, judge_id)) as name,
        lower(provider) as provider,
        is_simulated

    from staging.stg_judges

    union all

    select
        run_tag,
        'debater' as role,
        model_id as id,
        lower(coalesce(model_name, model_id)) as name,
        lower(provider) as provider,
        is_simulated

    from staging.stg_debaters

),

-- A name may include the maker (openai/gpt-5); a provider is a maker only if it serves only its own models, and then
-- it counts under the name that such names have.
families as materialized (

    select
        run_tag, role, id,
        case
            when name like '%/%' then split_part(name, '/', 1)
            when provider = 'gemini' then 'google'
            when provider = 'mistral' then 'mistralai'
            when provider = 'xai' then 'x-ai'
            when provider = 'moonshot' then 'moonshotai'
            when provider = 'dashscope' then 'qwen'
            when provider = 'zhipu' then 'z-ai'
            when provider not in (
                'openrouter', 'groq', 'together', 'fireworks', 'cerebras', 'azure', 'vllm', 'llama.cpp', 'ollama',
                'litellm', 'http', 'openai_compatible', 'simulated'
            ) then provider
        end as maker,
        nullif(regexp_extract(name, '(^|/)([a-z]{3,})[^/]*$', 2), '') as line

    from configured
    where not is_simulated

),

final as (

    select
        judges.run_tag,
        judges.id as judge_id,
        debaters.id as model_id

    from families as judges

    inner join families as debaters
        on judges.run_tag = debaters.run_tag
        and (judges.maker = debaters.maker or judges.line = debaters.line)

    where judges.role = 'judge' and debaters.role = 'debater'

)

select * from final
