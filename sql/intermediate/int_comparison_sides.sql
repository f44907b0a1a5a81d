-- One row per pair of subjects, side of the comparison and run on that side.
with

pairs as (

    select * from intermediate.int_comparison_pairs

),

members as (

    select * from intermediate.int_comparison_members

),

final as (

    select
        pairs.*,
        'baseline' as side,
        members.run_tag

    from pairs

    inner join members
        on pairs.baseline_kind = members.kind
        and pairs.baseline = members.subject

    union all

    select
        pairs.*,
        'candidate' as side,
        members.run_tag

    from pairs

    inner join members
        on pairs.candidate_kind = members.kind
        and pairs.candidate = members.subject

)

select * from final
