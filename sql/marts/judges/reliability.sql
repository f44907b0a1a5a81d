-- One row per run, unit (`winner` or a dimension), statistic and level.
with

final as (

    select * exclude (raters)
    from intermediate.int_reliability
    where raters = 'judges'

)

select * from final
