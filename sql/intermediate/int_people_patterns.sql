-- One row per run, unit, cluster and list of ratings that two or more people gave.
with

ratings as (

    select run_tag, unit, debate_id, cluster_unit, cluster_id, side, annotator_a as annotator_id, rating_a as rating
    from intermediate.int_people_pairs
    union
    select run_tag, unit, debate_id, cluster_unit, cluster_id, side, annotator_b as annotator_id, rating_b as rating
    from intermediate.int_people_pairs

),

lists as (

    select
        run_tag, unit, cluster_unit, cluster_id,
        list_sort(list(cast(rating as decimal(18, 6)))) as ratings

    from ratings
    group by run_tag, unit, cluster_unit, cluster_id, debate_id, side

),

-- People rate a debate once.
final as (

    select
        run_tag, unit, cluster_unit, cluster_id, ratings,
        count(*) as count_rated,
        count(*) as count_first,
        count(*) as count_first_of_size

    from lists
    group by run_tag, unit, cluster_unit, cluster_id, ratings

)

select * from final
