-- One row per valid verdict in a decided debate, with the panel's winner with and without it.
select
    judge_verdicts.run_tag, judge_verdicts.debate_id, judge_verdicts.judge_id,
    -- Of four teams, two of one side are not the same winner.
    coalesce(teams.winner, judge_verdicts.winner) as winner,
    coalesce(teams.panel_winner, panel_winners.winner) as panel_winner,
    coalesce(
        teams.winner_without,
        case judge_verdicts.winner
            when 'pro' then panel_winners.winner_without_pro
            when 'con' then panel_winners.winner_without_con
            when 'tie' then panel_winners.winner_without_tie
        end
    ) as winner_without

from marts.judge_verdicts
inner join marts.panel_winners using (run_tag, debate_id)
left join marts.team_verdicts as teams using (run_tag, debate_id, judge_id)
where judge_verdicts.is_valid and panel_winners.winner <> 'no_decision'
