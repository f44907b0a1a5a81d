-- One row per unordered pair of judges that sat together.
with

-- Winners as places on the scale from pro over a tie to con.
verdicts as (

    select
        counted_verdicts.run_tag, counted_verdicts.debate_id, clusters.cluster_id, counted_verdicts.judge_id,
        case counted_verdicts.winner when 'pro' then 0 when 'tie' then 1 else 2 end as place

    from marts.counted_verdicts
    inner join marts.judging_clusters as clusters using (run_tag, debate_id)

),

cluster_counts as materialized (

    select
        verdicts.run_tag,
        verdicts.judge_id as judge_a,
        others.judge_id as judge_b,
        verdicts.cluster_id,
        count(*) as n,
        count(case when verdicts.place = others.place then 1 end) as agree,
        count(case when verdicts.place <> 1 and others.place <> 1 then 1 end) as decisive,
        count(case when verdicts.place <> 1 and verdicts.place = others.place then 1 end) as agree_decisive,
        count(case when abs(verdicts.place - others.place) = 2 then 1 end) as opposed,
        count(case when verdicts.place = 0 then 1 end) as pro_a,
        count(case when verdicts.place = 2 then 1 end) as con_a,
        count(case when others.place = 0 then 1 end) as pro_b,
        count(case when others.place = 2 then 1 end) as con_b

    from verdicts

    inner join verdicts as others
        on verdicts.run_tag = others.run_tag
        and verdicts.debate_id = others.debate_id
        and verdicts.judge_id < others.judge_id

    group by verdicts.run_tag, verdicts.judge_id, others.judge_id, verdicts.cluster_id

),

totals as materialized (

    select
        run_tag, judge_a, judge_b,
        cast(null as varchar) as left_out,
        cast(sum(n) as bigint) as n,
        cast(sum(agree) as bigint) as agree,
        cast(sum(decisive) as bigint) as decisive,
        cast(sum(agree_decisive) as bigint) as agree_decisive,
        cast(sum(opposed) as bigint) as opposed,
        cast(sum(pro_a) as bigint) as pro_a,
        cast(sum(con_a) as bigint) as con_a,
        cast(sum(pro_b) as bigint) as pro_b,
        cast(sum(con_b) as bigint) as con_b

    from cluster_counts
    group by run_tag, judge_a, judge_b

),

-- Everything, and everything but one topic: the jackknife, which allows for debates on a topic being alike.
samples as (

    select * from totals

    union all

    select
        totals.run_tag, totals.judge_a, totals.judge_b,
        cluster_counts.cluster_id as left_out,
        totals.n - cluster_counts.n as n,
        totals.agree - cluster_counts.agree as agree,
        totals.decisive - cluster_counts.decisive as decisive,
        totals.agree_decisive - cluster_counts.agree_decisive as agree_decisive,
        totals.opposed - cluster_counts.opposed as opposed,
        totals.pro_a - cluster_counts.pro_a as pro_a,
        totals.con_a - cluster_counts.con_a as con_a,
        totals.pro_b - cluster_counts.pro_b as pro_b,
        totals.con_b - cluster_counts.con_b as con_b

    from totals
    inner join cluster_counts using (run_tag, judge_a, judge_b)

),

-- Sums of distances over debates, times their number; below, as they would be if the two judges' verdicts were dealt out
-- at random. Places that differ lie one apart, or two where the judges are opposed.
distances as (

    select
        *,
        n - pro_a - con_a as tie_a,
        n - pro_b - con_b as tie_b,
        n * (n - agree) as apart,
        n * (n - agree + opposed) as linear_apart,
        n * (n - agree + 3 * opposed) as quadratic_apart

    from samples

),

expectations as (

    select
        *,
        n * n - pro_a * pro_b - con_a * con_b - tie_a * tie_b as chance_apart,
        pro_a * con_b + con_a * pro_b as chance_opposed

    from distances

),

estimates as materialized (

    select
        run_tag, judge_a, judge_b, left_out, n, decisive,
        cast(agree as double) / nullif(n, 0) as agreement,
        cast(agree_decisive as double) / nullif(decisive, 0) as agreement_decisive,
        1 - cast(apart as double) / nullif(chance_apart, 0) as kappa,
        1 - cast(linear_apart as double) / nullif(chance_apart + chance_opposed, 0) as kappa_linear,
        1 - cast(quadratic_apart as double) / nullif(chance_apart + 3 * chance_opposed, 0) as kappa_quadratic

    from expectations

),

wholes as (

    select
        *,
        -- For Wilson's interval.
        pow(1.959963984540054, 2) / n as z2_n

    from estimates
    where left_out is null

),

spreads as (

    select
        estimates.run_tag, estimates.judge_a, estimates.judge_b,
        count(*) as count_clusters,
        count(estimates.kappa) as count_defined,
        -- Rounded before they are added, so that the sum does not depend on the order of rows.
        sum(cast(pow(estimates.kappa - wholes.kappa, 2) as decimal(38, 24))) as squares

    from estimates
    inner join wholes using (run_tag, judge_a, judge_b)
    where estimates.left_out is not null
    group by estimates.run_tag, estimates.judge_a, estimates.judge_b

),

half_widths as (

    select
        spreads.run_tag, spreads.judge_a, spreads.judge_b, spreads.count_clusters,
        case
            when spreads.count_clusters > 1 and spreads.count_clusters = spreads.count_defined then
                coalesce(t_quantiles.t_95, 1.959963984540054)
                * sqrt(
                    nullif(cast(spreads.squares as double), 0)
                    * (spreads.count_clusters - 1) / spreads.count_clusters
                )
        end as half_width

    from spreads
    left join intermediate.int_t_quantiles as t_quantiles on spreads.count_clusters - 1 = t_quantiles.df

),

final as (

    select
        wholes.run_tag, wholes.judge_a, wholes.judge_b,
        wholes.n as count_debates,
        wholes.agreement,
        greatest(
            0,
            (
                wholes.agreement + wholes.z2_n / 2
                - sqrt(wholes.z2_n * (wholes.agreement * (1 - wholes.agreement) + wholes.z2_n / 4))
            ) / (1 + wholes.z2_n)
        ) as agreement_ci_low,
        least(
            1,
            (
                wholes.agreement + wholes.z2_n / 2
                + sqrt(wholes.z2_n * (wholes.agreement * (1 - wholes.agreement) + wholes.z2_n / 4))
            ) / (1 + wholes.z2_n)
        ) as agreement_ci_high,
        wholes.decisive as count_decisive,
        wholes.agreement_decisive,
        wholes.kappa,
        case
            when wholes.kappa - half_widths.half_width < -1 then -1
            else wholes.kappa - half_widths.half_width
        end as kappa_ci_low,
        case
            when wholes.kappa + half_widths.half_width > 1 then 1
            else wholes.kappa + half_widths.half_width
        end as kappa_ci_high,
        wholes.kappa_linear,
        wholes.kappa_quadratic,
        half_widths.count_clusters

    from wholes
    inner join half_widths using (run_tag, judge_a, judge_b)

)

select * from final
