-- m - i + 1 times the i-th smallest of m p values; equal p values share the smallest i.
create macro holm_step(p, family) as
    case
        when p is not null then
            least(
                1,
                (
                    count(p) over (partition by family)
                    - rank() over (partition by family order by p nulls last)
                    + 1
                ) * p
            )
    end
