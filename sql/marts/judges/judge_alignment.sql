-- One row per judge that shared a panel with another judge, compared with the panels without it.
with

debates as (

    select
        decided_verdicts.run_tag, decided_verdicts.judge_id, clusters.source_debate_id, clusters.cluster_unit,
        clusters.cluster_id,
        count(*) as count_trials,
        count(case when decided_verdicts.winner_without = decided_verdicts.winner then 1 end) as count_aligned,
        count(case when decided_verdicts.winner_without <> decided_verdicts.panel_winner then 1 end) as count_flips

    from intermediate.int_decided_verdicts as decided_verdicts
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    where decided_verdicts.winner_without <> 'no_decision'
    group by
        decided_verdicts.run_tag, decided_verdicts.judge_id, clusters.source_debate_id, clusters.cluster_unit,
        clusters.cluster_id

),

-- Trials of a debate are averaged, so that it counts once. Decimals, so that sums do not depend on the order of rows.
cluster_sums as (

    select
        run_tag, judge_id, cluster_unit, cluster_id,
        count(*) as n,
        cast(sum(count_trials) as bigint) as count_trials,
        cast(sum(count_aligned) as bigint) as count_aligned,
        cast(sum(count_flips) as bigint) as count_flips,
        sum(cast(cast(count_aligned as double) / count_trials as decimal(38, 15))) as aligned,
        sum(cast(cast(count_flips as double) / count_trials as decimal(38, 15))) as flips

    from debates
    group by run_tag, judge_id, cluster_unit, cluster_id

),

wholes as (

    select
        run_tag, judge_id, cluster_unit,
        cast(sum(n) as bigint) as n,
        cast(sum(count_trials) as bigint) as count_trials,
        cast(sum(count_aligned) as bigint) as count_aligned,
        cast(sum(count_flips) as bigint) as count_flips,
        cast(sum(aligned) as double) / sum(n) as alignment_rate,
        cast(sum(flips) as double) / sum(n) as flip_rate,
        list({'n': n, 'y': cast(aligned as double)}) as clusters

    from cluster_sums
    group by run_tag, judge_id, cluster_unit

),

counted as (

    select
        wholes.*,
        macros.effective_count(
            wholes.alignment_rate,
            wholes.n,
            len(wholes.clusters),
            macros.mean_error(wholes.clusters, wholes.alignment_rate),
            of_debates.t_95,
            of_clusters.t_95
        ) as effective_n

    from wholes
    left join intermediate.int_t_quantiles as of_debates on wholes.n - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on len(wholes.clusters) - 1 = of_clusters.df

),

final as (

    select
        run_tag, judge_id,
        n as count_debates,
        count_trials, count_aligned, alignment_rate,
        macros.wilson_low(alignment_rate * effective_n, effective_n) as ci_low,
        macros.wilson_high(alignment_rate * effective_n, effective_n) as ci_high,
        macros.reason_of(effective_n is null, n, alignment_rate, len(clusters), cluster_unit) as reason,
        len(clusters) as count_clusters,
        count_flips, flip_rate

    from counted

)

select * from final
order by run_tag, judge_id
