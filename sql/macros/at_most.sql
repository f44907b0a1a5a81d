create macro at_most(value, bound) as
    case when value > bound then bound else value end
