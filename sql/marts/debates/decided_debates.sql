-- One row per debate with a winner or a tie: as its panel decided under the latest rule, or by forfeit.
with

-- In a run that judges stored debates, the weakness is in the debate of the source.
weakened as (

    select distinct sources.run_tag, sources.debate_id
    from intermediate.int_debate_sources as sources

    inner join staging.stg_weaknesses as weaknesses
        on sources.source_run_tag = weaknesses.run_tag
        and sources.source_debate_id = weaknesses.debate_id

),

final as (

    select
        debates.run_tag, debates.debate_id, debates.topic_id, debates.format, debates.pro_model_id,
        debates.con_model_id, debates.schedule_position, debates.created_at,
        -- No rule about panels applies to a forfeit: there is no panel.
        case
            when debates.status = 'forfeit' then case debates.refused_by when 'pro' then 'con' when 'con' then 'pro' end
            else panel_winners.winner
        end as winner,
        coalesce(
            debates.format = 'two_sided'
            and debates.pro_model_id <> debates.con_model_id
            and debates.trial = 1
            and weakened.debate_id is null,
            false
        ) as is_rated,
        debates.status = 'forfeit' as is_forfeit,
        weakened.debate_id is not null as is_weakened

    from staging.stg_debates as debates
    inner join marts.panel_winners using (run_tag, debate_id)
    left join weakened using (run_tag, debate_id)
    where panel_winners.winner <> 'no_decision' or debates.status = 'forfeit'

)

select * from final
