-- One row per run with a rated debate: which differences between debaters it can detect, and which it found.
with

-- Equal ratings are one level, so that no neighbour depends on the names of debaters.
places as (

    select
        run_tag, model_id,
        dense_rank() over (partition by run_tag order by rank) as level,
        count(*) over (partition by run_tag) as count_debaters

    from ratings.bradley_terry

),

neighbours as (

    select
        upper.run_tag,
        any_value(upper.count_debaters) as count_debaters,
        count(*) as count_neighbours,
        count(case when differences.is_significant then 1 end) as count_significant_neighbours,
        case
            when bool_or(upper.level = 1 and not differences.is_significant) then false
            when count(case when upper.level = 1 and differences.is_significant is null then 1 end) = 0 then true
        end as is_leader_significant

    from places as upper

    inner join places as lower
        on upper.run_tag = lower.run_tag
        and (upper.level + 1 = lower.level or (upper.level = lower.level and upper.model_id < lower.model_id))

    inner join marts.debater_differences as differences
        on upper.run_tag = differences.run_tag
        and least(upper.model_id, lower.model_id) = differences.model_a
        and greatest(upper.model_id, lower.model_id) = differences.model_b

    group by upper.run_tag

),

pairs as (

    select
        run_tag,
        count(*) as count_pairs,
        count(case when games > 0 then 1 end) as count_pairs_met,
        count(is_significant) as count_tested_pairs,
        count(wins_p_value) as count_direct_tests,
        count(case when is_significant then 1 end) as count_significant_pairs,
        cast(sum(games) as double) / count(*) as mean_pair_games,
        cast(floor(sum(a_wins + b_wins) / count(*)) as bigint) as pair_decisive_games,
        cast(floor(sum(count_common_topics) / count(*)) as bigint) as pair_topics,
        -- The spread by topic, pooled over pairs. Decimals, because a sum of floats depends on the order of the rows.
        -- If no pair's gap varies, the run does not show how much gaps vary.
        sqrt(
            nullif(
                cast(sum(cast(win_rate_gap_standard_error * win_rate_gap_standard_error * count_common_topics as decimal(38, 12))) as double),
                0
            )
            / count(win_rate_gap_standard_error)
        ) as topic_spread

    from marts.debater_differences
    group by run_tag

),

-- The level of one pair is that of Holm's method where no other pair is significant.
detectable as (

    select
        *,
        detectable_win_rate(pair_decisive_games, 0.8, 0.05 / nullif(count_direct_tests, 0)) as direct_win_rate,
        detectable_effect(pair_topics, 0.8, 0.05 / nullif(count_tested_pairs, 0)) * topic_spread as gap

    from pairs

),

final as (

    select
        detectable.run_tag, neighbours.count_debaters, detectable.count_pairs, detectable.count_pairs_met,
        detectable.count_tested_pairs, detectable.count_significant_pairs, neighbours.count_neighbours,
        neighbours.count_significant_neighbours, neighbours.is_leader_significant, detectable.mean_pair_games,
        detectable.direct_win_rate as detectable_direct_win_rate,
        macros.elo_gap(detectable.direct_win_rate) as detectable_direct_rating_gap,
        case when detectable.gap < 1 then detectable.gap end as detectable_win_rate_gap,
        case when detectable.gap < 1 then 2 * macros.elo_gap(0.5 + detectable.gap / 2) end as detectable_rating_gap,
        case
            when detectable.count_tested_pairs = 0
                then 'No two debaters can be tested: a test needs two topics that both debated on the same side.'
            when detectable.count_significant_pairs = 0
                then 'No two debaters differ significantly: every difference in this run may be chance.'
            when neighbours.count_significant_neighbours = 0
                then 'No debater differs significantly from the next in the ranking: only debaters further apart do.'
            when neighbours.is_leader_significant is null
                then 'The first two debaters cannot be tested: they have fewer than two topics in common.'
            when not neighbours.is_leader_significant
                then 'The first two debaters do not differ significantly.'
        end as warning

    from detectable
    inner join neighbours using (run_tag)

)

select * from final
