create macro higher_side(pro, con) as
    case when pro > con then 'pro' when pro < con then 'con' when pro = con then 'tie' end
