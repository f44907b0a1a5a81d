-- One row per debater and category with a rated debate; formerly a table of its own.
select run_tag, model_id, category, wins, losses, ties, games, win_rate from marts.debater_categories
