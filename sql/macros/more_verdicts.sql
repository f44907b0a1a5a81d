create macro more_verdicts(status, pro, con, tie, lead) as
    macros.panel_decision(
        status, pro, con, tie,
        case when pro - con >= lead then 'pro' when con - pro >= lead then 'con' else 'tie' end
    )
