-- m / i times the i-th smallest of m p values; equal ones share the greatest i.
create macro benjamini_hochberg_step(p, family) as
    case
        when p is not null then
            least(
                1,
                count(p) over (partition by family) * p
                / count(p) over (
                    partition by family order by p nulls last range between unbounded preceding and current row
                )
            )
    end
