-- Squares are rounded before they are added, so that the sum does not depend on the order of the list.
create macro sum_of_squares(deviations) as
    cast(
        list_sum(list_transform(deviations, lambda deviation: cast(power(deviation, 2) as decimal(38, 15)))) as double
    )
