-- One row per valid verdict on a debate of four teams that says which teams win.
with

verdicts as materialized (

    select ranks.run_tag, ranks.debate_id, ranks.judge_id, list(ranks.position) as teams
    from intermediate.int_team_ranks as ranks
    inner join marts.judge_verdicts as judged using (run_tag, debate_id, judge_id)
    where ranks.is_named and judged.is_valid
    group by ranks.run_tag, ranks.debate_id, ranks.judge_id

),

votes as (

    select
        run_tag, debate_id, judge_id,
        unnest(teams) as team

    from verdicts

),

-- The whole panel, and the panel without each of its judges.
panels as (

    select distinct run_tag, debate_id, cast(null as varchar) as without_judge_id from verdicts
    union all
    select run_tag, debate_id, judge_id as without_judge_id from verdicts

),

counts as (

    select
        panels.run_tag, panels.debate_id, panels.without_judge_id, votes.team,
        count(*) as count_votes

    from panels
    inner join votes using (run_tag, debate_id)
    where votes.judge_id is distinct from panels.without_judge_id
    group by panels.run_tag, panels.debate_id, panels.without_judge_id, votes.team

),

leaders as (

    select run_tag, debate_id, without_judge_id, team
    from counts
    qualify count_votes = max(count_votes) over (partition by run_tag, debate_id, without_judge_id)

),

winners as (

    select
        run_tag, debate_id, without_judge_id,
        array_to_string(list_sort(list(team)), ' ') as winner

    from leaders
    group by run_tag, debate_id, without_judge_id

),

final as (

    select
        verdicts.run_tag, verdicts.debate_id, verdicts.judge_id,
        array_to_string(list_sort(verdicts.teams), ' ') as winner,
        whole.winner as panel_winner,
        coalesce(rest.winner, 'no_decision') as winner_without

    from verdicts

    inner join winners as whole
        on verdicts.run_tag = whole.run_tag
        and verdicts.debate_id = whole.debate_id
        and whole.without_judge_id is null

    left join winners as rest
        on verdicts.run_tag = rest.run_tag
        and verdicts.debate_id = rest.debate_id
        and verdicts.judge_id = rest.without_judge_id

)

select * from final
