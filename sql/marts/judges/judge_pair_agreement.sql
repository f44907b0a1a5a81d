-- One row per unordered pair of judges that sat together.
with

totals as (

    select
        run_tag, judge_a, judge_b, cluster_unit,
        cast(sum(n) as bigint) as n,
        cast(sum(count_trials) as bigint) as count_trials,
        cast(sum(count_decisive) as bigint) as count_decisive,
        coalesce(sum(count_teams), 0) > 0 as has_teams,
        cast(sum(agree) as double) as agree,
        cast(sum(decisive) as double) as decisive,
        cast(sum(opposed) as double) as opposed,
        cast(sum(pro_a) as double) as pro_a,
        cast(sum(con_a) as double) as con_a,
        cast(sum(pro_b) as double) as pro_b,
        cast(sum(con_b) as double) as con_b,
        list(
            {
                'n': n,
                'y': cast(agree as double),
                'opposed': cast(opposed as double),
                'pro_a': cast(pro_a as double),
                'con_a': cast(con_a as double),
                'pro_b': cast(pro_b as double),
                'con_b': cast(con_b as double)
            }
        ) as clusters

    from intermediate.int_judge_pair_sums
    group by run_tag, judge_a, judge_b, cluster_unit

),

wholes as materialized (

    select
        *,
        len(clusters) as count_clusters,
        agree / n as agreement_rate,
        case when not has_teams then macros.kappa_from_counts(n, agree, opposed, pro_a, con_a, pro_b, con_b, 0) end
            as kappa

    from totals

),

-- Kappa with one topic left out at a time (the jackknife), because debates on the same topic are not independent.
intervals as (

    select
        wholes.*,
        macros.effective_count(
            wholes.agreement_rate,
            wholes.n,
            wholes.count_clusters,
            macros.mean_error(wholes.clusters, wholes.agreement_rate),
            of_debates.t_95,
            of_clusters.t_95
        ) as effective_n,
        macros.t_half_width(
            macros.jackknife_error(
                list_transform(
                    wholes.clusters,
                    lambda one:
                        macros.kappa_from_counts(
                            wholes.n - one.n, wholes.agree - one.y, wholes.opposed - one.opposed,
                            wholes.pro_a - one.pro_a, wholes.con_a - one.con_a,
                            wholes.pro_b - one.pro_b, wholes.con_b - one.con_b, 0
                        )
                ),
                wholes.kappa
            ),
            of_clusters.t_95
        ) as half_width

    from wholes
    left join intermediate.int_t_quantiles as of_debates on wholes.n - 1 = of_debates.df
    left join intermediate.int_t_quantiles as of_clusters on wholes.count_clusters - 1 = of_clusters.df

),

final as (

    select
        run_tag, judge_a, judge_b,
        n as count_debates,
        count_trials, agreement_rate,
        macros.wilson_low(agreement_rate * effective_n, effective_n) as agreement_rate_ci_low,
        macros.wilson_high(agreement_rate * effective_n, effective_n) as agreement_rate_ci_high,
        macros.reason_of(effective_n is null, n, agreement_rate, count_clusters, cluster_unit)
            as agreement_rate_reason,
        count_decisive,
        (decisive - opposed) / nullif(decisive, 0) as decisive_agreement_rate,
        kappa,
        macros.at_least(kappa - half_width, -1) as kappa_ci_low,
        macros.at_most(kappa + half_width, 1) as kappa_ci_high,
        macros.reason_of(half_width is null, n, kappa, count_clusters, cluster_unit) as kappa_reason,
        case when not has_teams then macros.kappa_from_counts(n, agree, opposed, pro_a, con_a, pro_b, con_b, 1) end
            as kappa_linear,
        case when not has_teams then macros.kappa_from_counts(n, agree, opposed, pro_a, con_a, pro_b, con_b, 3) end
            as kappa_quadratic,
        count_clusters

    from intervals

)

select * from final
