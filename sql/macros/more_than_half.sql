create macro more_than_half(status, pro, con, tie) as
    macros.panel_decision(
        status, pro, con, tie,
        case when pro > con + tie then 'pro' when con > pro + tie then 'con' else 'tie' end
    )
