-- One row per judge that shared a panel with another judge, compared with the panels without it.
with

counts as (

    select
        run_tag, judge_id,
        count(*) as count_debates,
        count(case when winner_without = winner then 1 end) as count_aligned,
        count(case when winner_without <> panel_winner then 1 end) as count_flips

    from marts.counted_verdicts
    where winner_without <> 'no_decision'
    group by run_tag, judge_id

),

final as (

    select
        run_tag, judge_id, count_debates, count_aligned,
        cast(count_aligned as double) / count_debates as alignment_rate,
        macros.wilson_low(count_aligned, count_debates) as ci_low,
        macros.wilson_high(count_aligned, count_debates) as ci_high,
        count_flips,
        cast(count_flips as double) / count_debates as flip_rate

    from counts

)

select * from final
order by run_tag, judge_id
