-- One row per run and effect: what speaking as pro, and speaking longer, is worth.
with

terms as (

    select * from ratings.bradley_terry_terms

),

final as (

    select
        run_tag,
        term as effect,
        value,
        ci_low,
        ci_high,
        length_sd,
        count_games,
        interval_method,
        is_separated

    from terms

    where term <> 'debater'

)

select * from final
