create macro t_half_width(standard_error, t_95) as
    coalesce(t_95, macros.normal_95()) * standard_error
