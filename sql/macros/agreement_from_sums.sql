create macro agreement_from_sums(statistic, n, within_panels, among_all, categories, trials) as
    case statistic
        when 'krippendorff_alpha' then
            1 - (n - trials) * cast(within_panels as double) / nullif(cast(among_all as double), 0)
        when 'fleiss_kappa' then
            1 - n * cast(within_panels as double) / nullif(cast(among_all as double), 0)
        when 'agreement' then
            1 - cast(within_panels as double) / nullif(n, 0)
        when 'gwet_ac1' then
            1 - cast(within_panels as double) / nullif(n, 0)
            / (1 - cast(among_all as double) / nullif(pow(n, 2), 0) / nullif(categories - 1, 0))
    end
