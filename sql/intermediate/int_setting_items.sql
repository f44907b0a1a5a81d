-- One row per item of the comparability check.
-- `affects` says what a difference spoils: everything, costs, elo, nothing (a name), or the debaters themselves, who
-- are what is compared, or chance, which the intervals allow for. In an item that is a list, a part that only one side
-- has is a difference; elsewhere it is the list's difference, and is named there.
select
    cast(position as bigint) as position,
    item,
    affects,
    is_list,
    decides_schedule,
    effect

from (
    values
    (
        1, 'benchmark_name', 'everything', false, false,
        'The runs belong to different benchmarks.'
    ),
    (
        2, 'benchmark_version', 'everything', false, false,
        'Runs of different versions of a benchmark are not meant to be compared as one.'
    ),
    (
        3, 'rubric_version', 'everything', false, false,
        'The rubric was given another version: the same score may mean something else.'
    ),
    (
        4, 'harness_version', 'everything', false, false,
        'Another version of debatebench played the debates.'
    ),
    (
        5, 'seed', 'chance', false, true,
        'With another seed panels were drawn anew: that is chance, which the intervals allow for.'
    ),
    (
        6, 'topics', 'everything', true, true,
        'Ratings rest on other topics; only what is paired compares the same topics.'
    ),
    (
        7, 'rounds', 'everything', true, false,
        'The debates had another format.'
    ),
    (
        8, 'languages', 'everything', false, false,
        'The debates were held or judged in another language.'
    ),
    (
        9, 'turn_token_caps', 'everything', false, false,
        'Speeches had another largest length.'
    ),
    (
        10, 'debaters', 'everything', true, true,
        'Other debaters took part: ratings are relative to the field, so they moved with it.'
    ),
    (
        11, 'debater_models', 'debaters', false, false,
        'A debater is another model or has other parameters: what changes for it is its own.'
    ),
    (
        12, 'debater_prompts', 'everything', true, false,
        'The debaters were asked in other words.'
    ),
    (
        13, 'debater_temperatures', 'debaters', false, false,
        'A debater was sampled at another temperature.'
    ),
    (
        14, 'debater_token_caps', 'debaters', false, false,
        'A debater had another cap on its tokens.'
    ),
    (
        15, 'judges', 'everything', true, true,
        'Other judges were in the pool.'
    ),
    (
        16, 'judge_models', 'everything', false, false,
        'A judge is another model, or has other parameters.'
    ),
    (
        17, 'judge_prompts', 'everything', false, false,
        'The judges were asked in other words.'
    ),
    (
        18, 'judge_temperatures', 'everything', false, false,
        'A judge was sampled at another temperature.'
    ),
    (
        19, 'judge_token_caps', 'everything', false, false,
        'A judge had another cap on its tokens.'
    ),
    (
        20, 'panel_rule', 'everything', false, true,
        'Panels had another size or were drawn in another way.'
    ),
    (
        21, 'judge_overlap', 'everything', false, true,
        'In one of them debaters may have judged themselves or their opponents.'
    ),
    (
        22, 'dimensions', 'everything', true, false,
        'The judges scored other dimensions, and winners follow from the scores.'
    ),
    (
        23, 'scales', 'everything', false, false,
        'The judges scored on other scales.'
    ),
    (
        24, 'schedule_rule', 'everything', false, true,
        'Debates were planned in another way.'
    ),
    (
        25, 'schedule', 'everything', false, false,
        'The plan has other debates or panels.'
    ),
    (
        26, 'prices', 'costs', false, false,
        'Tokens had other prices: distrust the differences of costs.'
    ),
    (
        27, 'elo_settings', 'elo', false, false,
        'Elo was computed with other settings: distrust the differences of Elo.'
    ),
    (
        28, 'sql_models', 'everything', false, false,
        'The numbers were derived by other SQL models.'
    )
) as items (position, item, affects, is_list, decides_schedule, effect)
