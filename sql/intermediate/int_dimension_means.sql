-- One row per debate and dimension with a score: the mean score of each side.
select
    run_tag, debate_id, dimension,
    cast(sum(pro_score) as double) / count(*) as pro_mean_score,
    cast(sum(con_score) as double) / count(*) as con_mean_score,
    count(*) as count_scored_verdicts

from marts.verdict_scores
group by run_tag, debate_id, dimension
