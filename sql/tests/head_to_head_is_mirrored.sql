-- Pairs of debaters whose two rows contradict each other.
select head_to_head.*
from marts.head_to_head

left join marts.head_to_head as mirrored
    on head_to_head.run_tag = mirrored.run_tag
    and head_to_head.model_id = mirrored.opponent_id
    and head_to_head.opponent_id = mirrored.model_id

where
    mirrored.run_tag is null
    or head_to_head.wins <> mirrored.losses
    or head_to_head.ties <> mirrored.ties
