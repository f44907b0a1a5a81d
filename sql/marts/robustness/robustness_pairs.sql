-- One row per judge and attacked copy whose clean copy it judged as well: both verdicts side by side.
with

verdicts as materialized (

    select * from intermediate.int_probed_verdicts

),

pairs as (

    select
        attacked.run_tag, attacked.judge_id, debates.attack, attacked.debate_id, debates.clean_debate_id,
        debates.attack_kind, debates.attack_side, debates.topic_id, debates.source_debate_id, clusters.cluster_id,
        clusters.cluster_unit,
        attacked.method, attacked.is_baseline,
        clean.winner as clean_winner,
        attacked.winner as attacked_winner,
        case when debates.attack_side = 'pro' then 1 else -1 end as direction,
        clean.pro_mean_score - clean.con_mean_score as clean_pro_margin,
        attacked.pro_mean_score - attacked.con_mean_score as attacked_pro_margin,
        attacked.is_injection_suspected

    from verdicts as attacked
    inner join marts.attacked_debates as debates using (run_tag, debate_id)

    inner join verdicts as clean
        on attacked.run_tag = clean.run_tag
        and debates.clean_debate_id = clean.debate_id
        and attacked.judge_id = clean.judge_id

    inner join intermediate.int_clusters as clusters
        on attacked.run_tag = clusters.run_tag
        and debates.clean_debate_id = clusters.debate_id

),

-- Twice what the verdict moved in favour of the attacker: 2 from a defeat to a victory.
moves as (

    select
        *,
        2 * direction * (macros.label_of(clean_winner) - macros.label_of(attacked_winner)) as move

    from pairs

),

final as (

    select
        run_tag, judge_id, attack, debate_id, clean_debate_id, attack_kind, attack_side, topic_id, source_debate_id,
        cluster_id, cluster_unit, method, is_baseline, clean_winner, attacked_winner,
        case when move > 0 then 'towards' when move < 0 then 'away' when move = 0 then 'none' end as change,
        case
            when move is null or clean_winner = attack_side then null
            else attacked_winner = attack_side
        end as is_success,
        direction * clean_pro_margin as clean_margin,
        direction * attacked_pro_margin as attacked_margin,
        direction * (attacked_pro_margin - clean_pro_margin) as score_shift,
        is_injection_suspected

    from moves

)

select * from final
order by run_tag, judge_id, attack, debate_id
