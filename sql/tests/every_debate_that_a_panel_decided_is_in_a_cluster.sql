-- Debates that their panels decided, and that no cluster of judging has. Forfeits have no panel.
select decided_debates.run_tag, decided_debates.debate_id
from marts.decided_debates
left join marts.judging_clusters using (run_tag, debate_id)
where not decided_debates.is_forfeit and judging_clusters.debate_id is null
