-- One row per pair of subjects and debater that both have rated: the difference of its ratings, with its error.
with

-- The ratings of a version of one run are those of the run.
subjects as (

    select 'run' as kind, run_tag as subject, run_tag from staging.stg_runs
    union all
    select pool_kind as kind, pool as subject, pooled_run_tag as run_tag
    from ratings.pooled_runs
    where pool_kind = 'version' and count_runs = 1

),

-- A topic with a different motion is a different topic, even if the id is the same.
without_topics as (

    select
        subjects.kind, subjects.subject, without_topic.topic_id, without_topic.model_id, without_topic.rating,
        coalesce(topics.motion, '') as motion

    from subjects
    inner join ratings.bradley_terry_without_topic as without_topic using (run_tag)
    left join staging.stg_topics as topics using (run_tag, topic_id)

),

-- Decimals, because a sum of floats depends on the order of the rows.
matched as (

    select
        pairs.baseline_kind, pairs.baseline, pairs.candidate_kind, pairs.candidate, before.model_id,
        count(*) as count_topics,
        cast(sum(cast(after.rating - before.rating as decimal(18, 6))) as double) as total,
        cast(sum(cast(power(after.rating - before.rating, 2) as decimal(38, 12))) as double) as squares

    from intermediate.int_comparison_pairs as pairs
    inner join without_topics as before on pairs.baseline_kind = before.kind and pairs.baseline = before.subject

    inner join without_topics as after
        on pairs.candidate_kind = after.kind
        and pairs.candidate = after.subject
        and before.topic_id = after.topic_id
        and before.motion = after.motion
        and before.model_id = after.model_id

    group by pairs.baseline_kind, pairs.baseline, pairs.candidate_kind, pairs.candidate, before.model_id

),

-- Of each rating by itself: its error, with a correction for few topics, and degrees of freedom.
errors as (

    select
        ratings.*,
        t_quantiles.df,
        (ratings.ci_high - ratings.ci_low) / 2 / coalesce(t_quantiles.t_95, macros.normal_95()) as error

    from intermediate.int_comparison_ratings as ratings

    left join intermediate.int_t_quantiles as t_quantiles
        on least(ratings.count_topics - 1, 1000) = t_quantiles.df
        and ratings.interval_method in ('bootstrap_topics', 'sandwich_topics')

),

chosen as (

    select
        pairs.baseline_kind, pairs.baseline, pairs.candidate_kind, pairs.candidate,
        before.model_id,
        after.rating - before.rating as difference,
        coalesce(
            matched.count_topics = before.count_topics and matched.count_topics = after.count_topics, false
        ) as is_paired,
        least(before.count_topics, after.count_topics) as count_topics,
        -- The jackknife over topics, of which one is left out of both subjects at the same time. A hundredth of a point
        -- is what fits leave where nothing varies.
        round(
            sqrt(
                greatest(matched.squares - power(matched.total, 2) / matched.count_topics, 0)
                * (matched.count_topics - 1) / matched.count_topics
            ),
            2
        ) as paired_error,
        sqrt(power(before.error, 2) + power(after.error, 2)) as unpaired_error,
        macros.welch_df(before.error, before.df, after.error, after.df) as unpaired_df

    from intermediate.int_comparison_pairs as pairs
    inner join errors as before on pairs.baseline_kind = before.kind and pairs.baseline = before.subject

    inner join errors as after
        on pairs.candidate_kind = after.kind
        and pairs.candidate = after.subject
        and before.model_id = after.model_id

    left join matched
        on pairs.baseline_kind = matched.baseline_kind
        and pairs.baseline = matched.baseline
        and pairs.candidate_kind = matched.candidate_kind
        and pairs.candidate = matched.candidate
        and before.model_id = matched.model_id

),

final as (

    select
        baseline_kind, baseline, candidate_kind, candidate, model_id,
        case when is_paired then 'paired' else 'unpaired' end as method,
        difference,
        case when is_paired then paired_error else unpaired_error end as standard_error,
        case when is_paired then count_topics - 1 else unpaired_df end as degrees_of_freedom,
        count_topics

    from chosen

)

select * from final
