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

-- Cohen's kappa is that of two people, so it is left out where there are more.
paired as (

    select
        pairs.run_tag, pairs.unit,
        count(*) as count_pairs,
        cast(count(case when pairs.difference = 0 then 1 end) as double) / count(*) as agreement_rate,
        cluster_mean(
            list(case when pairs.difference = 0 then 1.0 else 0.0 end), list(pairs.cluster_id), 0.95
        ) as agreement,
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

final as (

    select
        run_tag, unit, rated.count_debates, rated.count_annotators, rated.count_ratings, paired.count_pairs,
        rated.count_clusters, rated.cluster_unit, paired.agreement_rate,
        case when paired.agreement.se_cr1 > 0 then macros.at_least(paired.agreement.ci_low, 0) end
            as agreement_rate_ci_low,
        case when paired.agreement.se_cr1 > 0 then macros.at_most(paired.agreement.ci_high, 1) end
            as agreement_rate_ci_high,
        macros.reason_of(
            coalesce(paired.agreement.se_cr1, 0) = 0, count_pairs, agreement_rate, count_clusters, cluster_unit
        ) as agreement_rate_reason,
        paired.kappa.value as kappa,
        paired.kappa.ci_low as kappa_ci_low,
        paired.kappa.ci_high as kappa_ci_high,
        macros.reason_of(
            paired.kappa.ci_low is null,
            case when count_annotators = 2 then count_pairs end,
            paired.kappa.value, count_clusters, cluster_unit
        ) as kappa_reason,
        paired.kappa_quadratic.value as kappa_quadratic,
        paired.kappa_quadratic.ci_low as kappa_quadratic_ci_low,
        paired.kappa_quadratic.ci_high as kappa_quadratic_ci_high,
        macros.reason_of(
            paired.kappa_quadratic.ci_low is null,
            case when count_annotators = 2 and unit <> 'winner' then count_pairs end,
            paired.kappa_quadratic.value, count_clusters, cluster_unit
        ) as kappa_quadratic_reason,
        rated.level as alpha_level,
        rated.alpha.value as alpha,
        rated.alpha.ci_low as alpha_ci_low,
        rated.alpha.ci_high as alpha_ci_high,
        macros.reason_of(rated.alpha.ci_low is null, count_ratings, rated.alpha.value, count_clusters, cluster_unit)
            as alpha_reason

    from rated
    inner join paired using (run_tag, unit)

)

select * from final
