-- One row per pair of subjects: the runs that held the debates of each side.
with

sources as (

    select
        sides.baseline_kind, sides.baseline, sides.candidate_kind, sides.candidate,
        list_sort(list(distinct case when sides.side = 'baseline' then coalesce(runs.source_run_tag, runs.run_tag) end))
            as baseline_sources,
        list_sort(list(distinct case when sides.side = 'candidate' then coalesce(runs.source_run_tag, runs.run_tag) end))
            as candidate_sources,
        count(runs.source_run_tag) > 0 as is_judged_again

    from intermediate.int_comparison_sides as sides
    inner join staging.stg_runs as runs using (run_tag)
    group by sides.baseline_kind, sides.baseline, sides.candidate_kind, sides.candidate

),

final as (

    select
        baseline_kind, baseline, candidate_kind, candidate, is_judged_again,
        array_to_string(baseline_sources, ' | ') as baseline_sources,
        array_to_string(candidate_sources, ' | ') as candidate_sources,
        is_judged_again and baseline_sources = candidate_sources as is_same_debates

    from sources

)

select * from final
