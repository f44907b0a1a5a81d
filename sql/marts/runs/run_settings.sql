-- One row per setting of a run that could make its numbers other than those of another run.
with

-- An import says nothing about some settings, whatever the columns hold; a run older than an option went without.
run_settings as (

    select
        run_tag,
        unnest(
            [
                {'item': 'benchmark_name', 'part': 'name', 'value': benchmark_name},
                {'item': 'benchmark_version', 'part': 'version', 'value': benchmark_version},
                {'item': 'rubric_version', 'part': 'version', 'value': rubric_version},
                {'item': 'harness_version', 'part': 'version', 'value': harness_version},
                {'item': 'seed', 'part': 'seed', 'value': cast(seed as varchar)},
                {'item': 'languages', 'part': 'judges', 'value': language},
                {'item': 'debater_prompts', 'part': 'pro', 'value': left(prompt_hashes ->> '$.debater_pro', 12)},
                {'item': 'debater_prompts', 'part': 'con', 'value': left(prompt_hashes ->> '$.debater_con', 12)},
                {'item': 'debater_prompts', 'part': 'turn', 'value': left(prompt_hashes ->> '$.debater_turn', 12)},
                {
                    'item': 'judge_prompts',
                    'part': 'rubric and transcript',
                    'value': left(prompt_hashes ->> '$.judge_user', 12)
                },
                {'item': 'panel_rule', 'part': 'judges per debate', 'value': config ->> '$.judges_per_debate'},
                {'item': 'panel_rule', 'part': 'balanced', 'value': options ->> '$.balanced_judges'},
                {
                    'item': 'panel_rule',
                    'part': 'drawn from the debaters',
                    'value': options ->> '$.judges_from_selection'
                },
                {
                    'item': 'panel_rule',
                    'part': 'con first for half',
                    'value': case when source = 'run' then coalesce(options ->> '$.swap_order', 'false') end
                },
                {
                    'item': 'judge_overlap',
                    'part': 'debaters may judge',
                    'value': case when source = 'run' then cast(allows_judge_overlap as varchar) end
                },
                {'item': 'schedule_rule', 'part': 'debates per pair', 'value': options ->> '$.debates_per_pair'},
                {'item': 'schedule_rule', 'part': 'both sides', 'value': options ->> '$.balanced_sides'},
                {'item': 'schedule_rule', 'part': 'sides at random', 'value': options ->> '$.swap_sides'},
                {'item': 'elo_settings', 'part': 'initial rating', 'value': cast(elo_initial_rating as varchar)},
                {'item': 'elo_settings', 'part': 'K', 'value': cast(elo_k_factor as varchar)},
                {
                    'item': 'elo_settings',
                    'part': 'games for display',
                    'value': cast(min_games_for_display as varchar)
                },
                -- Every run of a warehouse is derived by the same SQL models.
                {'item': 'sql_models', 'part': 'build', 'value': 'one for all runs'}
            ]
        ) as setting

    from staging.stg_runs

),

topic_settings as (

    select
        run_tag,
        'topics' as item,
        topic_id as part,
        concat(motion, case when category <> '' then concat(' [', category, ']') end, ' ' || info_slide) as value

    from staging.stg_topics

),

turns as (

    select
        run_tag, language,
        generate_subscripts(try_cast(config -> '$.rounds' as json[]), 1) as turn_number,
        unnest(try_cast(config -> '$.rounds' as json[])) as turn

    from staging.stg_runs
    where source = 'run'

),

turn_settings as (

    select
        run_tag,
        unnest(
            [
                {
                    'item': 'rounds',
                    'part': concat('turn ', turn_number),
                    'value': concat(turn ->> '$.role', ' ', turn ->> '$.stage')
                },
                {
                    'item': 'languages',
                    'part': concat('turn ', turn_number),
                    'value': coalesce(turn ->> '$.language', language)
                },
                {
                    'item': 'turn_token_caps',
                    'part': concat('turn ', turn_number),
                    'value': coalesce(turn ->> '$.max_tokens', 'none')
                }
            ]
        ) as setting

    from turns

),

-- Both kinds of members have the same settings; what they are sent at when they name no temperature differs.
members as (

    select
        debaters.run_tag,
        'debater' as role,
        debaters.model_id as member_id,
        runs.source,
        debaters.provider,
        debaters.model_name,
        debaters.token_limit,
        debaters.parameters,
        cast(debaters.prompt_price_usd as decimal(38, 12)) * 1000000 as prompt_price,
        cast(debaters.completion_price_usd as decimal(38, 12)) * 1000000 as completion_price,
        runs.config ->> '$.temperature' as usual_temperature

    from staging.stg_debaters as debaters
    inner join staging.stg_runs as runs using (run_tag)

    union all

    select
        judges.run_tag,
        'judge' as role,
        judges.judge_id as member_id,
        runs.source,
        judges.provider,
        judges.model_name,
        judges.token_limit,
        judges.parameters,
        cast(judges.prompt_price_usd as decimal(38, 12)) * 1000000 as prompt_price,
        cast(judges.completion_price_usd as decimal(38, 12)) * 1000000 as completion_price,
        '0' as usual_temperature

    from staging.stg_judges as judges
    inner join staging.stg_runs as runs using (run_tag)

),

member_parameters as (

    select
        *,
        array_to_string(
            list_sort(
                list_transform(
                    list_filter(
                        map_entries(try_cast(parameters as map(varchar, json))),
                        lambda entry: entry.key <> 'temperature'
                    ),
                    lambda entry: entry.key || ': ' || cast(entry.value as varchar)
                )
            ),
            ', '
        ) as parameter_text

    from members

),

member_settings as (

    select
        run_tag,
        unnest(
            [
                {'item': concat(role, 's'), 'part': member_id, 'value': 'takes part'},
                {'item': concat(role, '_models'), 'part': member_id, 'value': provider || ' ' || model_name},
                {
                    'item': concat(role, '_models'),
                    'part': concat(member_id, ' parameters'),
                    'value': case when source = 'run' then parameter_text end
                },
                {
                    'item': concat(role, '_temperatures'),
                    'part': member_id,
                    'value': case
                        when source <> 'run' then null
                        when json_exists(parameters, '$.temperature')
                            then coalesce(parameters ->> '$.temperature', 'none')
                        else usual_temperature
                    end
                },
                {
                    'item': concat(role, '_token_caps'),
                    'part': member_id,
                    'value': case when source = 'run' then coalesce(cast(token_limit as varchar), 'none') end
                },
                {
                    'item': 'prices',
                    'part': concat(role, ' ', member_id),
                    'value': case when source = 'run' then concat(
                        coalesce(cast(cast(prompt_price as decimal(38, 6)) as varchar), 'unknown'),
                        ' and ',
                        coalesce(cast(cast(completion_price as decimal(38, 6)) as varchar), 'unknown')
                    ) end
                }
            ]
        ) as setting

    from member_parameters

),

judge_prompt_settings as (

    select
        judges.run_tag,
        'judge_prompts' as item,
        judges.judge_id as part,
        judges.prompt_style || ' '
        || left(runs.prompt_hashes ->> concat('$."judge_', judges.prompt_style, '"'), 12) as value

    from staging.stg_judges as judges
    inner join staging.stg_runs as runs using (run_tag)

),

-- Whether a judge was asked for a winner is no part of the text of its prompt, but shows in its answers.
judge_answer_settings as (

    select
        run_tag,
        'judge_prompts' as item,
        concat(judge_id, ' names winners') as part,
        case when count(declared_winner) > 0 then 'yes' else 'no' end as value

    from staging.stg_verdicts
    where is_valid
    group by run_tag, judge_id

),

dimension_settings as (

    select
        dimensions.run_tag,
        'dimensions' as item,
        dimensions.dimension as part,
        case when runs.source = 'run' then coalesce(dimensions.description, 'no description')
            else dimensions.description
        end as value

    from staging.stg_dimensions as dimensions
    inner join staging.stg_runs as runs using (run_tag)

    union all

    select
        run_tag,
        'dimensions' as item,
        'order' as part,
        array_to_string(
            list_transform(
                list_sort(list({'place': source_position, 'dimension': dimension})), lambda entry: entry.dimension
            ),
            ', '
        ) as value

    from staging.stg_dimensions
    group by run_tag

),

scales as (

    select
        run_tag,
        unnest(try_cast(config -> '$.dimensions' as json[])) as scale

    from staging.stg_runs
    where source = 'run'

),

scale_settings as (

    select
        run_tag,
        'scales' as item,
        dimension as part,
        cast(cast(min_score as double) as varchar) || ' to ' || cast(cast(max_score as double) as varchar) as value

    from staging.stg_dimensions

    union all

    select
        dimensions.run_tag,
        'scales' as item,
        concat(dimensions.dimension, ' numbers') as part,
        case
            when scales.run_tag is null then null
            when coalesce(
                try_cast(scales.scale ->> '$.integer' as boolean),
                dimensions.min_score = floor(dimensions.min_score)
                and dimensions.max_score = floor(dimensions.max_score)
            ) then 'whole'
            else 'any'
        end as value

    from staging.stg_dimensions as dimensions

    left join scales
        on dimensions.run_tag = scales.run_tag
        and dimensions.dimension = scales.scale ->> '$.dimension'

),

plans as (

    select
        run_tag,
        count(*) as count_debates,
        md5(
            array_to_string(
                list_sort(list(concat_ws(' ', topic_id, pro_model_id, con_model_id, repetition))), ' '
            )
        ) as debates_hash,
        md5(
            array_to_string(
                list_sort(
                    list(
                        concat_ws(
                            ' ', topic_id, pro_model_id, con_model_id, repetition, array_to_string(panel, ' ')
                        )
                    )
                ),
                ' '
            )
        ) as panels_hash

    from staging.stg_schedule
    group by run_tag

),

plan_settings as (

    select
        run_tag,
        'schedule' as item,
        'debates' as part,
        concat(count_debates, ' (', left(debates_hash, 12), ')') as value

    from plans

    union all

    select
        run_tag,
        'schedule' as item,
        'panels' as part,
        left(panels_hash, 12) as value

    from plans

),

listed as (

    select * from run_settings
    union all
    select * from turn_settings
    union all
    select * from member_settings

),

final as (

    select
        run_tag,
        setting.item as item,
        setting.part as part,
        setting.value as value

    from listed

    union all

    select * from topic_settings
    union all
    select * from judge_prompt_settings
    union all
    select * from judge_answer_settings
    union all
    select * from dimension_settings
    union all
    select * from scale_settings
    union all
    select * from plan_settings

)

select * from final
