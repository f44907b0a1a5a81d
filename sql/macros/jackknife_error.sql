-- Squares are added in units of the largest deviation, so that neither large nor small ones lose digits. Deviations of up to
-- 1e-12 are what rounding leaves of none. The list of one has DuckDB compute an argument once.
create macro jackknife_error(left_out, whole) as
    list_transform(
        [
            {
                'n': len(left_out),
                'deviations': list_transform(left_out, lambda value: value - whole),
                'largest': list_max(list_transform(left_out, lambda value: abs(value - whole)))
            }
        ],
        lambda given:
            case
                when given.n > 1 and given.n = list_count(given.deviations) and given.largest > 1e-12 then
                    given.largest
                    * sqrt(
                        macros.sum_of_squares(list_transform(given.deviations, lambda each: each / given.largest))
                        * (given.n - 1) / given.n
                    )
            end
    )[1]
