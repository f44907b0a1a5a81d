-- One row per run whose judges were asked whether debates are fit to be judged, and not which side is better.
select distinct run_tag
from staging.stg_dimensions
where dimension = 'fit_to_be_judged'
