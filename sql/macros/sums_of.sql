create macro sums_of(x, y, debate) as
    {
        'n': count(case when x is not null and y is not null then 1 end),
        'debates': count(distinct case when x is not null and y is not null then debate end),
        'x': sum(cast(case when y is not null then x end as decimal(18, 3))),
        'y': sum(cast(case when x is not null then y end as decimal(18, 9))),
        'xx': sum(cast(case when y is not null then x end as decimal(19, 3)) * cast(x as decimal(18, 3))),
        'xy': sum(cast(x as decimal(19, 3)) * cast(y as decimal(18, 9))),
        'yy': sum(cast(case when x is not null then y end as decimal(18, 9)) * cast(y as decimal(18, 9)))
    }
