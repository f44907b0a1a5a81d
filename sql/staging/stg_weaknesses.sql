-- One row per side into which a weakness was injected.
select run_tag, debate_id, side, weakness_type, dimension, metadata from raw.weaknesses
