-- One row per row of intermediate.int_compared_settings, whose former name this is.
select * from intermediate.int_compared_settings
