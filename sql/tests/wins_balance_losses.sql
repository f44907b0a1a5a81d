-- Runs in which debaters won more or fewer rated debates than debaters lost.
with

elo as (

    select * from ratings.elo

),

final as (

    select
        run_tag,
        sum(wins) as wins,
        sum(losses) as losses

    from elo

    group by run_tag

    having sum(wins) <> sum(losses)

)

select * from final
