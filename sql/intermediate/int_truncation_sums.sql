-- One row per run, debater and cluster with a turn whose end is known: how often the debater was cut off, and its points.
with

-- An import that does not say why answers ended says nothing about the token limit.
speeches as (

    select
        run_tag, debate_id, model_id, side,
        count(*) as count_speeches,
        count(case when is_truncated then 1 end) as count_truncated

    from intermediate.int_debate_turns
    where model_id is not null and (finish_reason is not null or is_truncated)
    group by run_tag, debate_id, model_id, side

),

results as (

    select
        run_tag, debate_id, model_id, side,
        cast(case result when 'win' then 1 when 'tie' then 0.5 else 0 end as decimal(2, 1)) as points

    from marts.debate_results
    where is_rated and not is_forfeit

),

final as (

    select
        run_tag, model_id, clusters.cluster_unit, clusters.cluster_id,
        cast(sum(speeches.count_speeches) as bigint) as count_speeches,
        cast(sum(speeches.count_truncated) as bigint) as count_truncated,
        count(results.points) as n,
        count(case when speeches.count_truncated > 0 then results.points end) as x,
        coalesce(sum(results.points), 0) as y,
        coalesce(sum(case when speeches.count_truncated > 0 then results.points end), 0) as xy

    from speeches
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)
    left join results using (run_tag, debate_id, model_id, side)
    where debates.trial = 1
    group by run_tag, model_id, clusters.cluster_unit, clusters.cluster_id

)

select * from final
