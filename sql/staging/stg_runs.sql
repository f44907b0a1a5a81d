-- One row per run: a tournament that was played, or a tag that was imported.
select
    run_tag, source, format, source_run_tag, benchmark_name, benchmark_version, rubric_version,
    harness_version, git_commit, language, seed, created_at, is_simulated, allows_judge_overlap,
    elo_initial_rating, elo_k_factor, min_games_for_display, config, options, prompt_hashes

from raw.runs
