-- One row per run and unit (`winner`, `winning_teams`, `team_rank` or a dimension) that several people annotated.
with

pairs as materialized (

    select * from intermediate.int_people_pairs

),

rated as (

    select
        run_tag, unit, cluster_unit,
        count(distinct debate_id) as count_debates,
        count(distinct cluster_id) as count_clusters,
        len(list_distinct(list_concat(list(annotator_a), list(annotator_b)))) as count_annotators

    from pairs
    group by run_tag, unit, cluster_unit

),

clusters as (

    select
        run_tag, unit, cluster_id,
        count(*) as n,
        count(case when difference = 0 then 1 end) as y

    from pairs
    group by run_tag, unit, cluster_id

),

agreements as (

    select
        run_tag, unit,
        cast(sum(n) as bigint) as count_pairs,
        cast(sum(y) as double) / sum(n) as agreement_rate,
        list({'n': n, 'y': cast(y as double)}) as clusters

    from clusters
    group by run_tag, unit

),

-- Cohen's kappa is that of two people, so it is left out where there are more.
measured as (

    select
        rated.*,
        agreements.count_pairs, agreements.agreement_rate,
        kappas.kappa,
        kappas.half_width as kappa_half_width,
        case when unit not in ('winner', 'winning_teams') then kappas.kappa_quadratic end as kappa_quadratic,
        case when unit not in ('winner', 'winning_teams') then kappas.half_width_quadratic end as quadratic_half_width,
        alphas.level, alphas.count_ratings,
        alphas.value as alpha,
        alphas.ci_low as alpha_ci_low,
        alphas.ci_high as alpha_ci_high,
        macros.t_half_width(
            nullif(macros.mean_error(agreements.clusters, agreements.agreement_rate), 0), t_quantiles.t_95
        ) as half_width

    from rated
    inner join agreements using (run_tag, unit)
    inner join intermediate.int_reliability as alphas using (run_tag, unit)
    left join intermediate.int_people_kappas as kappas using (run_tag, unit)
    left join intermediate.int_t_quantiles as t_quantiles on rated.count_clusters - 1 = t_quantiles.df

    where alphas.raters = 'people' and alphas.statistic = 'krippendorff_alpha'
        and alphas.level = case when unit in ('winner', 'winning_teams') then 'nominal' else 'ordinal' end

),

skipped as (

    select
        run_tag,
        count(*) as count_skipped

    from staging.stg_annotations
    where skip_reason is not null
    group by run_tag

),

final as (

    select
        run_tag, unit, count_debates, count_annotators, count_ratings, count_pairs, count_clusters, cluster_unit,
        coalesce(skipped.count_skipped, 0) as count_skipped,
        agreement_rate,
        macros.at_least(agreement_rate - half_width, 0) as agreement_rate_ci_low,
        macros.at_most(agreement_rate + half_width, 1) as agreement_rate_ci_high,
        macros.reason_of(half_width is null, count_pairs, agreement_rate, count_clusters, cluster_unit)
            as agreement_rate_reason,
        kappa,
        macros.at_least(kappa - kappa_half_width, -1) as kappa_ci_low,
        macros.at_most(kappa + kappa_half_width, 1) as kappa_ci_high,
        macros.reason_of(
            kappa_half_width is null, case when count_annotators = 2 then count_pairs end, kappa, count_clusters, cluster_unit
        ) as kappa_reason,
        kappa_quadratic,
        macros.at_least(kappa_quadratic - quadratic_half_width, -1) as kappa_quadratic_ci_low,
        macros.at_most(kappa_quadratic + quadratic_half_width, 1) as kappa_quadratic_ci_high,
        macros.reason_of(
            quadratic_half_width is null,
            case when count_annotators = 2 and unit not in ('winner', 'winning_teams') then count_pairs end,
            kappa_quadratic, count_clusters, cluster_unit
        ) as kappa_quadratic_reason,
        level as alpha_level,
        alpha, alpha_ci_low, alpha_ci_high,
        macros.reason_of(alpha_ci_low is null, count_ratings, alpha, count_clusters, cluster_unit) as alpha_reason

    from measured
    left join skipped using (run_tag)

)

select * from final
