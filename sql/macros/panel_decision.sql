create macro panel_decision(status, pro, con, tie, winner) as
    case
        when least(pro, con, tie) < 0 then null
        when status <> 'complete' or pro + con + tie = 0 then 'no_decision'
        else winner
    end
