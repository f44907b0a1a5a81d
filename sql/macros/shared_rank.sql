-- Ratings that differ by a billionth of a point differ by rounding only.
create macro shared_rank(value, family) as
    case
        when value is not null then
            1 + count(value) over (
                partition by family order by value desc
                range between unbounded preceding and 0.0000000015 preceding
            )
    end
