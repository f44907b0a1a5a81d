create macro by_number(n, one, many) as
    case when n = 1 then one else many end
