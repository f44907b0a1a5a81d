-- One row per debate: the run and debate that have its turns, and what people said of it.
select
    debates.run_tag, debates.debate_id,
    -- An import may hold a debate and another trial of it.
    case
        when debates.source_debate_id is not null and runs.source_run_tag is not null then runs.source_run_tag
        else debates.run_tag
    end as source_run_tag,
    coalesce(debates.source_debate_id, debates.debate_id) as source_debate_id,
    debates.trial

from staging.stg_debates as debates
inner join staging.stg_runs as runs using (run_tag)
