-- Ratings of one ranking of which the equal have different ranks, or the higher has not the better one.
with

ranked as (

    select 'bradley_terry' as ranking, run_tag as family, model_id, rating, rank from ratings.bradley_terry
    union all
    select 'elo', run_tag, model_id, elo_rating, elo_rank from marts.leaderboard where elo_rank is not null
    union all
    select 'controlled', run_tag, model_id, value, rank from ratings.bradley_terry_terms where term = 'debater'
    union all
    select 'davidson', run_tag, model_id, rating, rank from ratings.davidson
    union all
    select 'left_out', concat_ws('|', run_tag, kind, left_out), model_id, rating, rank from ratings.bradley_terry_left_out
    union all
    select 'pooled', concat_ws('|', pool_kind, pool, is_simulated), model_id, rating, rank
    from ratings.bradley_terry_pooled

)

select one.ranking, one.family, one.model_id, two.model_id as other_id, one.rating, two.rating as other_rating
from ranked as one
inner join ranked as two on one.ranking = two.ranking and one.family = two.family and one.model_id <> two.model_id

where
    (abs(one.rating - two.rating) <= 1e-9 and one.rank <> two.rank)
    or (one.rating > two.rating + 2e-9 and one.rank >= two.rank)
