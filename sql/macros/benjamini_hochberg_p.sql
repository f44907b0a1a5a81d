create macro benjamini_hochberg_p(p, step, family) as
    case
        when p is not null then
            min(step) over (
                partition by family order by p nulls last range between current row and unbounded following
            )
    end
