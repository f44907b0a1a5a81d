create macro left_out_text(kind, n, total, detail) as
    case kind
        when 'silent_judge' then
            concat('No verdict of judge ', detail, ' counts (', total, macros.by_number(total, ' verdict', ' verdicts'), ').')
        when 'weakened_debates' then macros.weakened_note(n, total)
        else
            concat(
                n, ' of ', total, ' ',
                case kind
                    when 'invalid_verdicts' then
                        concat('verdicts ', macros.by_number(n, 'does', 'do'), ' not count (', detail, ').')
                    when 'undecided_debates' then
                        concat(
                            'debates ', macros.by_number(n, 'has', 'have'), ' no decision, because no verdict on ',
                            macros.by_number(n, 'it', 'them'), ' counts.'
                        )
                    when 'void_debates' then
                        concat(
                            'debates ', macros.by_number(n, 'is', 'are'),
                            ' void, because a debater refused to speak; no result includes ',
                            macros.by_number(n, 'it.', 'them.')
                        )
                    when 'incomplete_debates' then
                        concat(
                            'debates ', macros.by_number(n, 'is', 'are'), ' incomplete; no result includes ',
                            macros.by_number(n, 'it.', 'them.')
                        )
                    when 'unplayed_debates' then
                        concat('planned debates ', macros.by_number(n, 'was', 'were'), ' not played.')
                    when 'four_team_debates' then
                        concat('decided debates ', macros.by_number(n, 'has', 'have'), ' four teams; no rating includes ',
                            macros.by_number(n, 'it.', 'them.'))
                    when 'self_play' then
                        concat(
                            'debates ', macros.by_number(n, 'has', 'have'),
                            ' one debater on both sides; no rating includes ', macros.by_number(n, 'it.', 'them.')
                        )
                    when 'later_trials' then
                        concat(
                            'debates ', macros.by_number(n, 'is a later trial', 'are later trials'),
                            ' of a debate, of which only the first is rated.'
                        )
                    when 'debaters_without_games' then
                        concat('debaters ', macros.by_number(n, 'has', 'have'), ' no rated debate, so no rating.')
                    when 'debaters_with_few_games' then
                        concat(
                            'debaters ', macros.by_number(n, 'has', 'have'), ' fewer than ', detail,
                            ' rated debates; the leaderboard does not show ', macros.by_number(n, 'it.', 'them.')
                        )
                    when 'empty_annotations' then
                        concat(
                            'annotations ', macros.by_number(n, 'names', 'name'), ' no winner and ',
                            macros.by_number(n, 'scores', 'score'), ' nothing, and ', macros.by_number(n, 'is', 'are'),
                            ' not used.'
                        )
                    when 'annotations_without_debate' then
                        concat(
                            'annotations ', macros.by_number(n, 'is', 'are'),
                            ' of debates that have not landed, and ', macros.by_number(n, 'is', 'are'), ' not used.'
                        )
                    when 'gold_without_debate' then
                        concat(
                            'gold verdicts ', macros.by_number(n, 'is', 'are'),
                            ' about debates that have not landed, and ', macros.by_number(n, 'is', 'are'), ' not used.'
                        )
                end
            )
    end
