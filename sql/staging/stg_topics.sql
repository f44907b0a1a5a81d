-- One row per topic of a run.
select run_tag, topic_id, source_position, motion, category, info_slide from raw.topics
