-- One row per unordered pair of judges that sat together.
with

-- Winners as positions on the scale pro, tie, con.
verdicts as (

    select
        counted_verdicts.run_tag, counted_verdicts.debate_id, clusters.cluster_id, counted_verdicts.judge_id,
        case counted_verdicts.winner when 'pro' then 0 when 'tie' then 1 else 2 end as place

    from marts.counted_verdicts
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)

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

totals as (

    select
        run_tag, judge_a, judge_b,
        cast(sum(n) as bigint) as n,
        cast(sum(agree) as bigint) as agree,
        cast(sum(decisive) as bigint) as decisive,
        cast(sum(opposed) as bigint) as opposed,
        cast(sum(pro_a) as bigint) as pro_a,
        cast(sum(con_a) as bigint) as con_a,
        cast(sum(pro_b) as bigint) as pro_b,
        cast(sum(con_b) as bigint) as con_b

    from cluster_counts
    group by run_tag, judge_a, judge_b

),

wholes as materialized (

    select
        *,
        macros.kappa_from_counts(n, agree, opposed, pro_a, con_a, pro_b, con_b, 0) as kappa

    from totals

),

-- Kappa with one topic left out at a time (the jackknife), because debates on the same topic are not independent.
errors as (

    select
        wholes.run_tag, wholes.judge_a, wholes.judge_b,
        count(*) as count_clusters,
        macros.jackknife_error(
            macros.kappa_from_counts(
                wholes.n - cluster_counts.n,
                wholes.agree - cluster_counts.agree,
                wholes.opposed - cluster_counts.opposed,
                wholes.pro_a - cluster_counts.pro_a,
                wholes.con_a - cluster_counts.con_a,
                wholes.pro_b - cluster_counts.pro_b,
                wholes.con_b - cluster_counts.con_b,
                0
            ),
            wholes.kappa
        ) as standard_error

    from wholes
    inner join cluster_counts using (run_tag, judge_a, judge_b)
    group by wholes.run_tag, wholes.judge_a, wholes.judge_b

),

half_widths as (

    select
        errors.run_tag, errors.judge_a, errors.judge_b, errors.count_clusters,
        macros.t_half_width(errors.standard_error, t_quantiles.t_95) as half_width

    from errors
    left join intermediate.int_t_quantiles as t_quantiles on errors.count_clusters - 1 = t_quantiles.df

),

final as (

    select
        run_tag, judge_a, judge_b,
        n as count_debates,
        cast(agree as double) / n as agreement_rate,
        macros.wilson_low(agree, n) as agreement_rate_ci_low,
        macros.wilson_high(agree, n) as agreement_rate_ci_high,
        decisive as count_decisive,
        cast(decisive - opposed as double) / nullif(decisive, 0) as decisive_agreement_rate,
        kappa,
        macros.at_least(kappa - half_width, -1) as kappa_ci_low,
        macros.at_most(kappa + half_width, 1) as kappa_ci_high,
        macros.kappa_from_counts(n, agree, opposed, pro_a, con_a, pro_b, con_b, 1) as kappa_linear,
        macros.kappa_from_counts(n, agree, opposed, pro_a, con_a, pro_b, con_b, 3) as kappa_quadratic,
        count_clusters

    from wholes
    inner join half_widths using (run_tag, judge_a, judge_b)

)

select * from final
