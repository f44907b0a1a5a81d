-- One row per judge that heard two debates that differ only in which debater was on which side, and cluster of debates.
with

-- Numbers instead of names, because several judges hear each debate.
debates as materialized (

    select
        debates.run_tag, debates.debate_id, clusters.cluster_unit, clusters.cluster_id,
        debates.pro_model_id < debates.con_model_id as is_first,
        cast(
            dense_rank() over (
                order by
                    debates.run_tag,
                    debates.topic_id,
                    least(debates.pro_model_id, debates.con_model_id),
                    greatest(debates.pro_model_id, debates.con_model_id)
            ) as integer
        ) as pairing,
        cast(row_number() over (order by debates.schedule_position nulls last, debates.debate_id) as integer) as place

    from marts.decided_debates as debates
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    where debates.is_rated and debates.topic_id is not null

),

-- The nth debate of one orientation is paired with the nth of the other.
verdicts as (

    select
        decided_verdicts.judge_id, decided_verdicts.winner, debates.is_first, debates.pairing, debates.place,
        row_number() over (
            partition by decided_verdicts.judge_id, debates.pairing, debates.is_first order by debates.place
        ) as meeting

    from intermediate.int_decided_verdicts as decided_verdicts
    inner join debates using (run_tag, debate_id)

),

-- Where each debate is a cluster of its own, so is each pair of them.
final as (

    select
        debates.run_tag, verdicts.judge_id, debates.cluster_unit, debates.cluster_id,
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
        on verdicts.judge_id = swapped.judge_id
        and verdicts.pairing = swapped.pairing
        and verdicts.meeting = swapped.meeting

    inner join debates on verdicts.place = debates.place

    where verdicts.is_first and not swapped.is_first
    group by debates.run_tag, verdicts.judge_id, debates.cluster_unit, debates.cluster_id

)

select * from final
