-- m / i times the i-th smallest of m p values; equal p values share the greatest i. m / i is computed first: rounded,
-- it is not below 1, so no p value is adjusted to less than itself.
create macro benjamini_hochberg_step(p, family) as
    case
        when p is not null then
            least(
                1,
                p * (
                    count(p) over (partition by family)
                    / count(p) over (
                        partition by family order by p nulls last range between unbounded preceding and current row
                    )
                )
            )
    end
