-- One row per debater and opponent that met in a rated debate; every pair has two rows.
select
    run_tag, model_id, opponent_id,
    count(*) as games,
    count(case when result = 'win' then 1 end) as wins,
    count(case when result = 'loss' then 1 end) as losses,
    count(case when result = 'tie' then 1 end) as ties,
    (wins + 0.5 * ties) / games as win_rate

from marts.debate_results
where is_rated
group by run_tag, model_id, opponent_id
order by run_tag, model_id, opponent_id
