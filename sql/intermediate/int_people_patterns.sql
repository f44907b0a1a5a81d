-- One row per run, unit, cluster and list of ratings that two or more people gave.
with

-- The pairs take long to plan, so they are read once.
ratings as (

    select distinct
        run_tag, unit, debate_id, cluster_unit, cluster_id, side,
        unnest([
            {'annotator_id': annotator_a, 'rating': rating_a},
            {'annotator_id': annotator_b, 'rating': rating_b}
        ]) as each

    from intermediate.int_people_pairs

),

lists as (

    select
        run_tag, unit, cluster_unit, cluster_id,
        list_sort(list(cast(each.rating as decimal(18, 6)))) as ratings

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
