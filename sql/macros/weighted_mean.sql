create macro weighted_mean(total, weight) as
    cast(cast(total as double) / nullif(cast(weight as double), 0) as decimal(38, 12))
