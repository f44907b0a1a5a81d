create macro holm_p(p, step, family) as
    case
        when p is not null then
            max(step) over (
                partition by family order by p nulls last range between unbounded preceding and current row
            )
    end
