create macro at_least(value, bound) as
    case when value < bound then bound else value end
