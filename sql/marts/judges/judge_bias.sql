-- One row per kind of bias and judge with a valid verdict in a decided debate.
with

verdicts as materialized (

    select * from marts.verdict_comparisons

),

t_quantiles as materialized (

    select * from intermediate.int_t_quantiles

),

-- A kind of bias is a y that should be `neutral` on average, or should not go with an x.
kinds as (

    select 'leniency' as bias, 'mean' as measure, 0.0 as neutral
    union all
    select 'side_preference', 'rate', 0.5
    union all
    select 'mirrored_side_preference', 'rate', 0.5
    union all
    select 'side_lean', 'mean', 0
    union all
    select 'position', 'slope', 0
    union all
    select 'own_family_margin', 'mean', 0
    union all
    select 'own_family_points', 'mean', 0
    union all
    select 'verbosity', 'slope', 0
    union all
    select 'verbosity_beyond_others', 'slope', 0
    union all
    select 'verbosity_correlation', 'correlation', 0
    union all
    select 'longer_wins', 'rate', 0.5

),

judges as (

    select distinct run_tag, judge_id from verdicts

),

measured as (

    select
        run_tag, judge_id, cluster_id,
        score - others_score as leniency,
        pro_points - others_pro_points as side_lean,
        case winner when 'pro' then 1 when 'con' then 0 end as pro_wins,
        case presented_first when 'pro' then 1 when 'con' then 0 end as pro_first,
        own_side * (margin - neutral_margin) as own_family_margin,
        own_side * (pro_points - neutral_pro_points) as own_family_points,
        margin,
        margin - others_margin as margin_beyond_others,
        length_difference,
        case
            when winner = 'tie' or length_difference = 0 then null
            when (winner = 'pro') = (length_difference > 0) then 1
            when length_difference is not null then 0
        end as longer_wins

    from verdicts

),

listed as (

    select
        run_tag, judge_id, cluster_id,
        unnest(
            [
                {'bias': 'leniency', 'has_x': false, 'x': 0, 'y': leniency},
                {'bias': 'side_preference', 'has_x': false, 'x': 0, 'y': pro_wins},
                {'bias': 'side_lean', 'has_x': false, 'x': 0, 'y': side_lean},
                {'bias': 'position', 'has_x': true, 'x': pro_first, 'y': pro_wins},
                {'bias': 'own_family_margin', 'has_x': false, 'x': 0, 'y': own_family_margin},
                {'bias': 'own_family_points', 'has_x': false, 'x': 0, 'y': own_family_points},
                {'bias': 'verbosity', 'has_x': true, 'x': length_difference, 'y': margin},
                {'bias': 'verbosity_beyond_others', 'has_x': true, 'x': length_difference, 'y': margin_beyond_others},
                {'bias': 'verbosity_correlation', 'has_x': true, 'x': length_difference, 'y': margin},
                {'bias': 'longer_wins', 'has_x': false, 'x': 0, 'y': longer_wins}
            ]
        ) as observation

    from measured

),

observations as (

    select
        run_tag, judge_id, cluster_id,
        observation.bias as bias,
        cast(observation.x as bigint) as x,
        cast(observation.y as decimal(18, 9)) as y

    from listed
    where observation.y is not null and observation.x is not null

),

-- Sums of x and y, of their squares and of their products tell means, slopes and correlations, and can be added up.
cluster_sums as materialized (

    select
        run_tag, judge_id, bias, cluster_id,
        count(*) as n,
        cast(sum(x) as decimal(38, 0)) as x,
        cast(sum(y) as decimal(38, 9)) as y,
        cast(sum(x * x) as decimal(38, 0)) as xx,
        cast(sum(x * cast(y as decimal(38, 9))) as decimal(38, 9)) as xy,
        cast(sum(cast(y as decimal(38, 9)) * y) as decimal(38, 18)) as yy

    from observations
    group by run_tag, judge_id, bias, cluster_id

    union all

    select
        run_tag, judge_id,
        'mirrored_side_preference' as bias,
        'all' as cluster_id,
        pro_both + con_both as n,
        0 as x,
        pro_both as y,
        0 as xx,
        0 as xy,
        pro_both as yy

    from marts.judge_mirrored_pairs
    where pro_both + con_both > 0

),

totals as materialized (

    select
        run_tag, judge_id, bias,
        cast(null as varchar) as left_out,
        cast(sum(n) as bigint) as n,
        sum(x) as x,
        sum(y) as y,
        sum(xx) as xx,
        sum(xy) as xy,
        sum(yy) as yy

    from cluster_sums
    group by run_tag, judge_id, bias

),

parts as (

    select * from totals

    union all

    select
        totals.run_tag, totals.judge_id, totals.bias,
        cluster_sums.cluster_id as left_out,
        totals.n - cluster_sums.n as n,
        totals.x - cluster_sums.x as x,
        totals.y - cluster_sums.y as y,
        totals.xx - cluster_sums.xx as xx,
        totals.xy - cluster_sums.xy as xy,
        totals.yy - cluster_sums.yy as yy

    from totals
    inner join cluster_sums using (run_tag, judge_id, bias)

),

spreads as (

    select
        *,
        cast(n * xx - x * x as double) as spread_x,
        cast(n * yy - y * y as double) as spread_y,
        cast(n * xy - x * y as double) as product

    from parts

),

estimates as materialized (

    select
        spreads.run_tag, spreads.judge_id, spreads.bias, spreads.left_out, spreads.n, spreads.y,
        case kinds.measure
            when 'slope' then
                case when spreads.bias = 'position' then 1 else 1000 end * spreads.product / nullif(spreads.spread_x, 0)
            when 'correlation' then
                spreads.product / nullif(sqrt(spreads.spread_x), 0) / nullif(sqrt(spreads.spread_y), 0)
            else cast(spreads.y as double) / nullif(spreads.n, 0)
        end as value

    from spreads
    inner join kinds using (bias)

),

wholes as (

    select * from estimates where left_out is null

),

-- The statistic without one topic at a time (the jackknife), which allows for debates on a topic being alike.
spread_over_clusters as (

    select
        estimates.run_tag, estimates.judge_id, estimates.bias,
        count(*) as count_clusters,
        count(estimates.value) as count_defined,
        -- Rounded before they are added, so that the sum does not depend on the order of rows.
        sum(cast(pow(estimates.value - wholes.value, 2) as decimal(38, 24))) as squares

    from estimates
    inner join wholes using (run_tag, judge_id, bias)
    where estimates.left_out is not null
    group by estimates.run_tag, estimates.judge_id, estimates.bias

),

spans as (

    select
        judges.run_tag, judges.judge_id, kinds.bias, kinds.measure, kinds.neutral,
        coalesce(wholes.n, 0) as n,
        cast(wholes.y as bigint) as successes,
        wholes.value,
        spread_over_clusters.count_clusters,
        case
            when spread_over_clusters.count_clusters > 1
                and spread_over_clusters.count_clusters = spread_over_clusters.count_defined
            then
                coalesce(t_quantiles.t_95, 1.959963984540054)
                * sqrt(
                    nullif(cast(spread_over_clusters.squares as double), 0)
                    * (spread_over_clusters.count_clusters - 1) / spread_over_clusters.count_clusters
                )
        end as half_width,
        -- Wilson's interval for rates.
        pow(1.959963984540054, 2) / nullif(wholes.n, 0) as z2_n

    from judges
    cross join kinds
    left join wholes using (run_tag, judge_id, bias)
    left join spread_over_clusters using (run_tag, judge_id, bias)
    left join t_quantiles on spread_over_clusters.count_clusters - 1 = t_quantiles.df

),

final as (

    select
        run_tag, judge_id, bias, measure, value,
        case
            when measure = 'rate' and n > 0 then
                greatest(0, (value + z2_n / 2 - sqrt(z2_n * (value * (1 - value) + z2_n / 4))) / (1 + z2_n))
            when measure = 'correlation' and value - half_width < -1 then -1
            else value - half_width
        end as ci_low,
        case
            when measure = 'rate' and n > 0 then
                least(1, (value + z2_n / 2 + sqrt(z2_n * (value * (1 - value) + z2_n / 4))) / (1 + z2_n))
            when measure = 'correlation' and value + half_width > 1 then 1
            else value + half_width
        end as ci_high,
        -- Exact binomial test: twice the probability of so few, or fewer.
        case
            when measure = 'rate' and n > 0 then
                least(
                    1,
                    2 * list_sum(
                        list_transform(
                            range(0, least(successes, n - successes) + 1),
                            lambda k:
                                exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * ln(2))
                        )
                    )
                )
        end as p_value,
        cast(neutral as double) as neutral,
        n as count_observations,
        case when measure <> 'rate' then count_clusters end as count_clusters

    from spans

)

select * from final
