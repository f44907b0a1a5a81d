-- One row per attacked copy of a stored debate that was judged.
select
    attacked.run_tag, attacked.debate_id, attacked.attack,
    json_extract_string(runs.options, concat('$.attacks."', attacked.attack, '".kind')) as attack_kind,
    attacked.attack_side,
    runs.source_run_tag, attacked.source_debate_id, attacked.trial,
    clean.debate_id as clean_debate_id,
    attacked.topic_id, attacked.format, attacked.pro_model_id, attacked.con_model_id, attacked.status,
    attacked.status_reason, attacked.created_at, attacked.count_expected_judges, attacked.count_actual_judges

from staging.stg_attacked_debates as attacked
inner join staging.stg_runs as runs on attacked.run_tag = runs.run_tag

left join staging.stg_debates as clean
    on attacked.run_tag = clean.run_tag
    and attacked.source_debate_id = clean.source_debate_id
    and attacked.trial = clean.trial

order by attacked.run_tag, attacked.attack, attacked.debate_id
