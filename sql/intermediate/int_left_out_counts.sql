-- One row per run and kind of debate, debater or verdict of people: how many do not count, of how many.
with

-- Four teams can be ranked if each has a debater of its own.
ranked_teams as (

    select run_tag, debate_id
    from marts.team_results
    group by run_tag, debate_id
    having count(*) = count(distinct model_id)

),

debates as (

    select
        debates.run_tag,
        count(case when debates.status = 'void' then 1 end) as count_void,
        count(case when debates.status = 'incomplete' then 1 end) as count_incomplete,
        count(case when debates.status = 'complete' and decided.debate_id is null then 1 end) as count_undecided,
        count(case when debates.format <> 'two_sided' and ranked_teams.debate_id is null then decided.debate_id end)
            as count_unranked_teams,
        count(case when debates.pro_model_id = debates.con_model_id then decided.debate_id end) as count_self_play,
        count(case when debates.trial > 1 then decided.debate_id end) as count_later_trials,
        count(case when decided.is_weakened then 1 end) as count_weakened,
        count(decided.debate_id) as count_decided,
        count(*) as count_debates

    from staging.stg_debates as debates

    left join marts.decided_debates as decided
        on debates.run_tag = decided.run_tag
        and debates.debate_id = decided.debate_id

    left join ranked_teams
        on debates.run_tag = ranked_teams.run_tag
        and debates.debate_id = ranked_teams.debate_id

    group by debates.run_tag

),

planned as (

    select
        schedule.run_tag,
        count(case when debates.debate_id is null then 1 end) as count_unplayed,
        count(*) as count_planned

    from staging.stg_schedule as schedule

    left join staging.stg_debates as debates
        on schedule.run_tag = debates.run_tag
        and schedule.debate_id = debates.debate_id

    group by schedule.run_tag

),

debaters as (

    select
        debaters.run_tag,
        count(case when coalesce(elo.games, four_teams.games) is null then 1 end) as count_without_games,
        count(case when coalesce(elo.games, four_teams.games) < runs.min_games_for_display then 1 end)
            as count_with_few_games,
        count(*) as count_debaters,
        cast(any_value(runs.min_games_for_display) as varchar) as least_games

    from staging.stg_debaters as debaters
    inner join staging.stg_runs as runs using (run_tag)
    left join ratings.elo using (run_tag, model_id)
    left join ratings.plackett_luce as four_teams using (run_tag, model_id)
    group by debaters.run_tag

),

verdicts_of_people as (

    select
        run_tag, debate_id,
        'annotations' as source,
        is_coherent is not false and winner is null and coalesce(len(scores), 0) = 0 and ranks is null as is_empty

    from staging.stg_annotations
    where skip_reason is null

    union all
    select run_tag, debate_id, 'gold' as source, false as is_empty from staging.stg_gold

),

people as (

    select
        verdicts.run_tag, verdicts.source,
        count(case when debates.debate_id is null then 1 end) as count_orphans,
        count(case when verdicts.is_empty then 1 end) as count_empty,
        count(*) as count_all

    from verdicts_of_people as verdicts

    left join staging.stg_debates as debates
        on verdicts.run_tag = debates.run_tag
        and verdicts.debate_id = debates.debate_id

    group by verdicts.run_tag, verdicts.source

),

kinds as (

    select
        run_tag,
        unnest([
            {'kind': 'void_debates', 'n': count_void, 'total': count_debates},
            {'kind': 'incomplete_debates', 'n': count_incomplete, 'total': count_debates},
            {'kind': 'undecided_debates', 'n': count_undecided, 'total': count_debates},
            {'kind': 'unranked_teams', 'n': count_unranked_teams, 'total': count_decided},
            {'kind': 'self_play', 'n': count_self_play, 'total': count_decided},
            {'kind': 'later_trials', 'n': count_later_trials, 'total': count_decided},
            {'kind': 'weakened_debates', 'n': count_weakened, 'total': count_decided}
        ]) as counted,
        null as detail

    from debates

    union all

    select
        run_tag,
        unnest([
            {'kind': 'debaters_without_games', 'n': count_without_games, 'total': count_debaters},
            {'kind': 'debaters_with_few_games', 'n': count_with_few_games, 'total': count_debaters}
        ]) as counted,
        least_games as detail

    from debaters

    union all

    select run_tag, {'kind': 'unplayed_debates', 'n': count_unplayed, 'total': count_planned} as counted, null as detail
    from planned

    union all

    select
        run_tag,
        unnest([
            {'kind': concat(source, '_without_debate'), 'n': count_orphans, 'total': count_all},
            {'kind': concat('empty_', source), 'n': count_empty, 'total': count_all}
        ]) as counted,
        null as detail

    from people

),

final as (

    select
        run_tag,
        counted.kind as kind,
        counted.n as count_left_out,
        counted.total as count_all,
        detail

    from kinds

)

select * from final
