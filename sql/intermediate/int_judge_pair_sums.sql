-- One row per unordered pair of judges that sat together and cluster of debates.
with

-- Winners as positions on the scale pro, tie, con; null for teams.
verdicts as (

    select
        decided_verdicts.run_tag, decided_verdicts.debate_id, decided_verdicts.judge_id,
        clusters.source_debate_id, clusters.cluster_unit, clusters.cluster_id,
        decided_verdicts.winner,
        case decided_verdicts.winner when 'pro' then 0 when 'tie' then 1 when 'con' then 2 end as place

    from intermediate.int_decided_verdicts as decided_verdicts
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)

),

-- Trials of a debate are averaged, so that it counts once.
debates as (

    select
        verdicts.run_tag, verdicts.judge_id as judge_a, others.judge_id as judge_b, verdicts.source_debate_id,
        verdicts.cluster_unit, verdicts.cluster_id,
        count(*) as count_trials,
        count(case when verdicts.place is null or others.place is null then 1 end) as count_teams,
        count(case when verdicts.place <> 1 and others.place <> 1 then 1 end) as count_decisive,
        avg(case when verdicts.winner = others.winner then 1 else 0 end) as agree,
        avg(case when verdicts.place <> 1 and others.place <> 1 then 1 else 0 end) as decisive,
        avg(case when abs(verdicts.place - others.place) = 2 then 1 else 0 end) as opposed,
        avg(case when verdicts.place = 0 then 1 else 0 end) as pro_a,
        avg(case when verdicts.place = 2 then 1 else 0 end) as con_a,
        avg(case when others.place = 0 then 1 else 0 end) as pro_b,
        avg(case when others.place = 2 then 1 else 0 end) as con_b

    from verdicts

    inner join verdicts as others
        on verdicts.run_tag = others.run_tag
        and verdicts.debate_id = others.debate_id
        and verdicts.judge_id < others.judge_id

    group by
        verdicts.run_tag, verdicts.judge_id, others.judge_id, verdicts.source_debate_id, verdicts.cluster_unit,
        verdicts.cluster_id

),

-- Decimals, so that sums do not depend on the order of rows.
final as (

    select
        run_tag, judge_a, judge_b, cluster_unit, cluster_id,
        count(*) as n,
        cast(sum(count_trials) as bigint) as count_trials,
        cast(sum(count_decisive) as bigint) as count_decisive,
        cast(sum(count_teams) as bigint) as count_teams,
        sum(cast(agree as decimal(38, 15))) as agree,
        sum(cast(decisive as decimal(38, 15))) as decisive,
        sum(cast(opposed as decimal(38, 15))) as opposed,
        sum(cast(pro_a as decimal(38, 15))) as pro_a,
        sum(cast(con_a as decimal(38, 15))) as con_a,
        sum(cast(pro_b as decimal(38, 15))) as pro_b,
        sum(cast(con_b as decimal(38, 15))) as con_b

    from debates
    group by run_tag, judge_a, judge_b, cluster_unit, cluster_id

)

select * from final
