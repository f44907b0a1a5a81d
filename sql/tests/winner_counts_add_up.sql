-- Runs whose winners do not add up to the decided debates.
with

winner_counts as (

    select * from marts.winner_counts

),

runs as (

    select * from marts.runs

),

final as (

    select
        runs.run_tag,
        runs.count_decided,
        sum(winner_counts.count) as counted

    from runs

    left join winner_counts
        on runs.run_tag = winner_counts.run_tag

    group by runs.run_tag, runs.count_decided

    having runs.count_decided <> coalesce(sum(winner_counts.count), 0)

)

select * from final
