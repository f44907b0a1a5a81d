create macro label_of(winner) as
    case winner when 'pro' then 0.0 when 'tie' then 0.5 when 'con' then 1.0 end
