-- One row per unordered pair of judges that sat together and cluster of debates.
with

-- Winners as positions on the scale pro, tie, con; null for teams.
verdicts as (

    select
        run_tag, debate_id, judge_id, winner,
        case winner when 'pro' then 0 when 'tie' then 1 when 'con' then 2 end as place

    from intermediate.int_decided_verdicts

),

debates as (

    select
        run_tag, debate_id, clusters.cluster_unit, clusters.cluster_id,
        -- Null where a debate has one trial, and need not be told apart.
        repeated.source_debate_id as repeated_debate_id

    from intermediate.int_clusters as clusters
    left join intermediate.int_repeated_debates as repeated using (run_tag, debate_id)

),

trials as (

    select
        run_tag, verdicts.judge_id as judge_a, others.judge_id as judge_b, debates.cluster_unit, debates.cluster_id,
        debates.repeated_debate_id,
        count(*) as n,
        count(case when verdicts.place is null or others.place is null then 1 end) as count_teams,
        count(case when verdicts.winner = others.winner then 1 end) as agree,
        count(case when verdicts.place <> 1 and others.place <> 1 then 1 end) as decisive,
        count(case when abs(verdicts.place - others.place) = 2 then 1 end) as opposed,
        count(case when verdicts.place = 0 then 1 end) as pro_a,
        count(case when verdicts.place = 2 then 1 end) as con_a,
        count(case when others.place = 0 then 1 end) as pro_b,
        count(case when others.place = 2 then 1 end) as con_b

    from verdicts
    inner join verdicts as others using (run_tag, debate_id)
    inner join debates using (run_tag, debate_id)
    where verdicts.judge_id < others.judge_id

    group by
        run_tag, verdicts.judge_id, others.judge_id, debates.cluster_unit, debates.cluster_id,
        debates.repeated_debate_id

),

final as (

    select
        run_tag, judge_a, judge_b, cluster_unit, cluster_id,
        macros.count_once(repeated_debate_id, n) as n,
        cast(sum(n) as bigint) as count_trials,
        cast(sum(decisive) as bigint) as count_decisive,
        cast(sum(count_teams) as bigint) as count_teams,
        macros.sum_once(repeated_debate_id, n, agree) as agree,
        macros.sum_once(repeated_debate_id, n, decisive) as decisive,
        macros.sum_once(repeated_debate_id, n, opposed) as opposed,
        macros.sum_once(repeated_debate_id, n, pro_a) as pro_a,
        macros.sum_once(repeated_debate_id, n, con_a) as con_a,
        macros.sum_once(repeated_debate_id, n, pro_b) as pro_b,
        macros.sum_once(repeated_debate_id, n, con_b) as con_b

    from trials
    group by run_tag, judge_a, judge_b, cluster_unit, cluster_id

)

select * from final
