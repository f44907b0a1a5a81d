create macro measure_from_sums(measure, n, x, y, xx, xy, yy) as
    case measure
        when 'slope' then cast(n * xy - x * y as double) / nullif(cast(n * xx - x * x as double), 0)
        when 'correlation' then
            cast(n * xy - x * y as double)
            / nullif(sqrt(cast(n * xx - x * x as double)), 0)
            / nullif(sqrt(n * macros.squared_deviations(n, y, yy)), 0)
        else cast(y as double) / nullif(n, 0)
    end
