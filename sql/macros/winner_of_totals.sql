create macro winner_of_totals(pro_total, con_total) as
    case when pro_total > con_total then 'pro' when pro_total < con_total then 'con' when pro_total = con_total then 'tie' end
