-- One row per judge that heard two debates that differ only in which debater was on which side, and cluster of debates.
with

-- The nth debate of one orientation is paired with the nth of the other.
verdicts as (

    select
        decided_verdicts.run_tag, decided_verdicts.judge_id, decided_verdicts.winner,
        decided_debates.topic_id, decided_debates.pro_model_id, decided_debates.con_model_id,
        clusters.cluster_unit, clusters.cluster_id,
        row_number() over (
            partition by
                decided_verdicts.run_tag,
                decided_verdicts.judge_id,
                decided_debates.topic_id,
                decided_debates.pro_model_id,
                decided_debates.con_model_id
            order by decided_debates.schedule_position nulls last, decided_debates.debate_id
        ) as meeting

    from intermediate.int_decided_verdicts as decided_verdicts
    inner join marts.decided_debates using (run_tag, debate_id)
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    where decided_debates.is_rated

),

-- Where each debate is a cluster of its own, so is each pair of them.
final as (

    select
        verdicts.run_tag, verdicts.judge_id, verdicts.cluster_unit, verdicts.cluster_id,
        count(*) as count_pairs,
        count(case when verdicts.winner = 'pro' and swapped.winner = 'pro' then 1 end) as count_pro_both,
        count(case when verdicts.winner = 'con' and swapped.winner = 'con' then 1 end) as count_con_both,
        count(
            case
                when verdicts.winner = 'pro' and swapped.winner = 'con' then 1
                when verdicts.winner = 'con' and swapped.winner = 'pro' then 1
                when verdicts.winner = 'tie' and swapped.winner = 'tie' then 1
            end
        ) as count_consistent

    from verdicts

    inner join verdicts as swapped
        on verdicts.run_tag = swapped.run_tag
        and verdicts.judge_id = swapped.judge_id
        and verdicts.topic_id = swapped.topic_id
        and verdicts.pro_model_id = swapped.con_model_id
        and verdicts.con_model_id = swapped.pro_model_id
        and verdicts.meeting = swapped.meeting

    where verdicts.pro_model_id < verdicts.con_model_id
    group by verdicts.run_tag, verdicts.judge_id, verdicts.cluster_unit, verdicts.cluster_id

)

select * from final
