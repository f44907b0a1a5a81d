-- One row per run and unit (`winner` or a dimension) that several people annotated.
with

pairs as materialized (

    select * from intermediate.int_people_pairs

),

raters as (

    select run_tag, unit, debate_id, side, annotator_a as annotator_id, rating_a as rating from pairs
    union
    select run_tag, unit, debate_id, side, annotator_b as annotator_id, rating_b as rating from pairs

),

rated as (

    select
        run_tag, unit,
        case unit when 'winner' then 'nominal' else 'ordinal' end as level,
        count(distinct debate_id) as count_debates,
        count(distinct annotator_id) as count_annotators,
        count(*) as count_ratings,
        krippendorff_alpha_interval(
            list(concat(side, ' ', debate_id)),
            list(rating),
            list(debate_id),
            case unit when 'winner' then 'nominal' else 'ordinal' end,
            0.95
        ) as alpha

    from raters
    group by run_tag, unit

),

-- Cohen's kappa is that of two people, so it is left out where there are more.
paired as (

    select
        pairs.run_tag, pairs.unit,
        count(*) as count_pairs,
        cast(count(case when pairs.difference = 0 then 1 end) as double) / count(*) as agreement_rate,
        cluster_mean(
            list(case when pairs.difference = 0 then 1.0 else 0.0 end), list(pairs.debate_id), 0.95
        ) as agreement,
        case when rated.count_annotators = 2
            then cohen_kappa_interval(
                list(pairs.rating_a), list(pairs.rating_b), list(pairs.debate_id), 'none', 0.95
            )
        end as kappa,
        case when rated.count_annotators = 2 and pairs.unit <> 'winner'
            then cohen_kappa_interval(
                list(pairs.rating_a), list(pairs.rating_b), list(pairs.debate_id), 'quadratic', 0.95
            )
        end as kappa_quadratic

    from pairs
    inner join rated using (run_tag, unit)
    group by pairs.run_tag, pairs.unit, rated.count_annotators

),

final as (

    select
        run_tag, unit, rated.count_debates, rated.count_annotators, rated.count_ratings, paired.count_pairs,
        paired.agreement_rate,
        case when paired.agreement.se_cr1 > 0 then macros.at_least(paired.agreement.ci_low, 0) end
            as agreement_rate_ci_low,
        case when paired.agreement.se_cr1 > 0 then macros.at_most(paired.agreement.ci_high, 1) end
            as agreement_rate_ci_high,
        paired.kappa.value as kappa,
        paired.kappa.ci_low as kappa_ci_low,
        paired.kappa.ci_high as kappa_ci_high,
        paired.kappa_quadratic.value as kappa_quadratic,
        paired.kappa_quadratic.ci_low as kappa_quadratic_ci_low,
        paired.kappa_quadratic.ci_high as kappa_quadratic_ci_high,
        rated.level as alpha_level,
        rated.alpha.value as alpha,
        rated.alpha.ci_low as alpha_ci_low,
        rated.alpha.ci_high as alpha_ci_high

    from rated
    inner join paired using (run_tag, unit)

)

select * from final
