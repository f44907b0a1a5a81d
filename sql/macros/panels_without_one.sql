create macro panels_without_one(count_pro, count_con, count_tie) as
    [
        {'pro': count_pro, 'con': count_con, 'tie': count_tie},
        {'pro': count_pro - 1, 'con': count_con, 'tie': count_tie},
        {'pro': count_pro, 'con': count_con - 1, 'tie': count_tie},
        {'pro': count_pro, 'con': count_con, 'tie': count_tie - 1}
    ]
