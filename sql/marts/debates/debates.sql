-- One row per debate.
with

invalid_verdicts as (

    select
        run_tag, debate_id,
        count(*) as count_invalid_verdicts

    from marts.judge_verdicts
    where not is_valid
    group by run_tag, debate_id

),

final as (

    select
        debates.run_tag, debates.debate_id, debates.source_position, debates.schedule_position,
        debates.topic_id, topics.motion, topics.category, debates.format, debates.pro_model_id,
        debates.con_model_id, debates.repetition, debates.status, debates.status_reason, debates.refused_by,
        coalesce(decided_debates.winner, 'no_decision') as winner,
        panel_winners.count_pro, panel_winners.count_con, panel_winners.count_tie,
        panel_winners.count_valid_verdicts,
        coalesce(invalid_verdicts.count_invalid_verdicts, 0) as count_invalid_verdicts,
        debates.count_expected_judges, debate_means.pro_mean_score, debate_means.con_mean_score,
        debate_costs.count_turns, debate_costs.total_tokens, debate_costs.cost_usd,
        debate_costs.count_unpriced, debates.recorded_winner, debates.source_debate_id, debates.trial,
        debates.created_at, debates.is_control

    from staging.stg_debates as debates
    left join staging.stg_topics as topics using (run_tag, topic_id)
    left join marts.panel_winners using (run_tag, debate_id)
    left join invalid_verdicts using (run_tag, debate_id)
    left join marts.decided_debates using (run_tag, debate_id)
    left join intermediate.int_debate_means as debate_means using (run_tag, debate_id)
    left join marts.debate_costs using (run_tag, debate_id)

)

select * from final
