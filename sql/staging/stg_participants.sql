-- One row per debate and speaking position, without attacked copies, which have the speakers of their clean copies.
select run_tag, debate_id, position, model_id, side
from raw.participants

where
    not exists (
        select 1
        from raw.debates as attacked
        where
            attacked.run_tag = participants.run_tag
            and attacked.debate_id = participants.debate_id
            and attacked.attack is not null
    )
