-- One row per judge that sat with another, against the panels without the judge.
with

votes as (

    select
        run_tag, debate_id, judge_id,
        case winner when 'pro' then 1 when 'con' then -1 else 0 end as vote

    from marts.counted_verdicts

),

panels as (

    select
        run_tag, debate_id,
        count(*) as count_votes,
        sum(vote) as lead

    from votes
    group by run_tag, debate_id

),

-- More votes for pro than for con are a lead above 0; that of the others lacks the judge's own vote.
counts as (

    select
        votes.run_tag, votes.judge_id,
        count(*) as count_debates,
        count(case when sign(panels.lead - votes.vote) = votes.vote then 1 end) as count_aligned,
        count(case when sign(panels.lead - votes.vote) <> sign(panels.lead) then 1 end) as count_flips

    from votes
    inner join panels using (run_tag, debate_id)
    where panels.count_votes > 1
    group by votes.run_tag, votes.judge_id

),

rates as (

    select
        *,
        cast(count_aligned as double) / count_debates as alignment,
        -- For Wilson's interval.
        pow(1.959963984540054, 2) / count_debates as z2_n

    from counts

),

final as (

    select
        run_tag, judge_id, count_debates, count_aligned, alignment,
        greatest(0, (alignment + z2_n / 2 - sqrt(z2_n * (alignment * (1 - alignment) + z2_n / 4))) / (1 + z2_n))
            as ci_low,
        least(1, (alignment + z2_n / 2 + sqrt(z2_n * (alignment * (1 - alignment) + z2_n / 4))) / (1 + z2_n))
            as ci_high,
        count_flips,
        cast(count_flips as double) / count_debates as flip_rate

    from rates

)

select * from final
