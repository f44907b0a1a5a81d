-- One row per run and unit (`winner` or a dimension) that several people annotated.
with

pairs as materialized (

    select * from intermediate.int_people_pairs

),

raters as (

    select run_tag, unit, debate_id, cluster_id, cluster_unit, side, annotator_a as annotator_id, rating_a as rating
    from pairs
    union
    select run_tag, unit, debate_id, cluster_id, cluster_unit, side, annotator_b as annotator_id, rating_b as rating
    from pairs

),

rated as (

    select
        run_tag, unit, cluster_unit,
        case unit when 'winner' then 'nominal' else 'ordinal' end as level,
        count(distinct debate_id) as count_debates,
        count(distinct cluster_id) as count_clusters,
        count(distinct annotator_id) as count_annotators,
        count(*) as count_ratings,
        krippendorff_alpha_interval(
            list(concat(side, ' ', debate_id)),
            list(rating),
            list(cluster_id),
            case unit when 'winner' then 'nominal' else 'ordinal' end,
            0.95
        ) as alpha

    from raters
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
kappas as (

    select
        pairs.run_tag, pairs.unit,
        case when rated.count_annotators = 2
            then cohen_kappa_interval(
                list(pairs.rating_a), list(pairs.rating_b), list(pairs.cluster_id), 'none', 0.95
            )
        end as kappa,
        case when rated.count_annotators = 2 and pairs.unit <> 'winner'
            then cohen_kappa_interval(
                list(pairs.rating_a), list(pairs.rating_b), list(pairs.cluster_id), 'quadratic', 0.95
            )
        end as kappa_quadratic

    from pairs
    inner join rated using (run_tag, unit)
    group by pairs.run_tag, pairs.unit, rated.count_annotators

),

measured as (

    select
        rated.*,
        agreements.count_pairs, agreements.agreement_rate, kappas.kappa, kappas.kappa_quadratic,
        macros.t_half_width(
            nullif(macros.mean_error(agreements.clusters, agreements.agreement_rate), 0), t_quantiles.t_95
        ) as half_width

    from rated
    inner join agreements using (run_tag, unit)
    inner join kappas using (run_tag, unit)
    left join intermediate.int_t_quantiles as t_quantiles on rated.count_clusters - 1 = t_quantiles.df

),

final as (

    select
        run_tag, unit, count_debates, count_annotators, count_ratings, count_pairs, count_clusters, cluster_unit,
        agreement_rate,
        macros.at_least(agreement_rate - half_width, 0) as agreement_rate_ci_low,
        macros.at_most(agreement_rate + half_width, 1) as agreement_rate_ci_high,
        macros.reason_of(half_width is null, count_pairs, agreement_rate, count_clusters, cluster_unit)
            as agreement_rate_reason,
        kappa.value as kappa,
        kappa.ci_low as kappa_ci_low,
        kappa.ci_high as kappa_ci_high,
        macros.reason_of(
            kappa.ci_low is null,
            case when count_annotators = 2 then count_pairs end,
            kappa.value, count_clusters, cluster_unit
        ) as kappa_reason,
        kappa_quadratic.value as kappa_quadratic,
        kappa_quadratic.ci_low as kappa_quadratic_ci_low,
        kappa_quadratic.ci_high as kappa_quadratic_ci_high,
        macros.reason_of(
            kappa_quadratic.ci_low is null,
            case when count_annotators = 2 and unit <> 'winner' then count_pairs end,
            kappa_quadratic.value, count_clusters, cluster_unit
        ) as kappa_quadratic_reason,
        level as alpha_level,
        alpha.value as alpha,
        alpha.ci_low as alpha_ci_low,
        alpha.ci_high as alpha_ci_high,
        macros.reason_of(alpha.ci_low is null, count_ratings, alpha.value, count_clusters, cluster_unit)
            as alpha_reason

    from measured

)

select * from final
