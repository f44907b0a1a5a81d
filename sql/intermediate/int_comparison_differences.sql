-- One row per pair of subjects, debater or judge, and measure: both values and their difference with a 95 % interval.
with

means as (

    select
        baseline_kind, baseline, candidate_kind, candidate, role, member_id, measure, dimension,
        count(baseline_total) as baseline_topics,
        count(candidate_total) as candidate_topics,
        count(case when count_pairs > 0 then 1 end) as paired_topics,
        coalesce(cast(sum(count_baseline_debates) as bigint), 0) as count_baseline_debates,
        coalesce(cast(sum(count_candidate_debates) as bigint), 0) as count_candidate_debates,
        cast(sum(count_pairs) as bigint) as count_pairs,
        cast(sum(baseline_total) as double) / sum(count_baseline_debates) as baseline_mean,
        cast(sum(candidate_total) as double) / sum(count_candidate_debates) as candidate_mean,
        cast(sum(paired_baseline_total) as double) / nullif(sum(count_pairs), 0) as paired_baseline_mean,
        cast(sum(paired_candidate_total) as double) / nullif(sum(count_pairs), 0) as paired_candidate_mean,
        cast(sum(paired_candidate_total - paired_baseline_total) as double) / nullif(sum(count_pairs), 0)
            as paired_difference,
        list({'n': count_baseline_debates, 'y': cast(baseline_total as double)}) as baseline_clusters,
        list({'n': count_candidate_debates, 'y': cast(candidate_total as double)}) as candidate_clusters,
        list({'n': count_pairs, 'y': cast(paired_candidate_total - paired_baseline_total as double)}) as paired_clusters

    from intermediate.int_comparison_topics as comparison_topics
    group by baseline_kind, baseline, candidate_kind, candidate, role, member_id, measure, dimension

),

-- The standard error of a mean over debates, clustered by topic. A topic that is not part of a sum is null in it.
errors as (

    select
        *,
        macros.mean_error(baseline_clusters, baseline_mean) as baseline_error,
        macros.mean_error(candidate_clusters, candidate_mean) as candidate_error,
        macros.mean_error(paired_clusters, paired_difference) as paired_error

    from means

),

-- One topic says nothing about other topics, so pairs on a single topic are not better than unpaired debates.
chosen as (

    select
        *,
        case
            when count_baseline_debates = 0 then 'only in the candidate'
            when count_candidate_debates = 0 then 'only in the baseline'
            when paired_topics > 1 then 'paired'
            else 'unpaired'
        end as method,
        case when paired_topics > 1 then paired_baseline_mean else baseline_mean end as baseline_value,
        case when paired_topics > 1 then paired_candidate_mean else candidate_mean end as candidate_value,
        case when paired_topics > 1 then paired_difference else candidate_mean - baseline_mean end as difference,
        case
            when paired_topics > 1 then paired_error
            else sqrt(power(baseline_error, 2) + power(candidate_error, 2))
        end as error,
        case when paired_topics > 1 then paired_topics else least(baseline_topics, candidate_topics) end
            as count_topics,
        case
            when paired_topics > 1 then paired_topics - 1
            else macros.welch_df(baseline_error, baseline_topics - 1, candidate_error, candidate_topics - 1)
        end as df

    from errors

),

-- Equal differences have an error of 0, and floats give slightly more. Then there is no interval. Two values
-- differ by their range at most.
spreads as (

    select
        *,
        case when round(error, 12) > 0 then error end as spread,
        macros.largest_value(measure) - macros.least_value(measure) as largest

    from chosen

),

final as (

    select
        spreads.baseline_kind, spreads.baseline, spreads.candidate_kind, spreads.candidate, spreads.role,
        spreads.member_id, spreads.measure, spreads.dimension, spreads.method,
        -- The sums are exact to twelve decimals.
        round(spreads.baseline_value, 12) as baseline_value,
        round(spreads.candidate_value, 12) as candidate_value,
        round(spreads.difference, 12) as difference,
        round(macros.at_least(spreads.difference - t_quantiles.t_95 * spreads.spread, -spreads.largest), 12) as ci_low,
        round(macros.at_most(spreads.difference + t_quantiles.t_95 * spreads.spread, spreads.largest), 12) as ci_high,
        macros.reason_of(
            t_quantiles.t_95 * spreads.spread is null,
            least(spreads.count_baseline_debates, spreads.count_candidate_debates),
            spreads.difference,
            spreads.count_topics,
            'topic'
        ) as reason,
        macros.change_p(
            spreads.difference,
            case when t_quantiles.df is not null then round(spreads.error, 12) end,
            t_quantiles.df
        ) as p_value,
        case when t_quantiles.df is not null then round(spreads.error, 12) end as standard_error,
        t_quantiles.df as degrees_of_freedom,
        t_quantiles.detectable_t * spreads.spread as detectable_difference,
        spreads.count_baseline_debates, spreads.count_candidate_debates,
        case when spreads.method = 'paired' then spreads.count_pairs else 0 end as count_pairs,
        spreads.count_topics

    from spreads

    left join intermediate.int_t_quantiles as t_quantiles
        on least(spreads.df, 1000) = t_quantiles.df
        and spreads.difference is not null

)

select * from final
