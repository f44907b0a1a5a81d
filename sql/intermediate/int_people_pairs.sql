-- One row per pair of annotators of a debate and what both rated: the winner, or one side or team on a dimension.
with

winning_teams as (

    select
        run_tag, debate_id, person_id,
        array_to_string(list_sort(list(case when is_winner then position end)), ' ') as teams

    from intermediate.int_team_opinions
    where not is_adjudicated and dimension = 'overall'
    group by run_tag, debate_id, person_id

),

ratings as (

    select
        run_tag, debate_id, person_id,
        'winner' as unit,
        'both' as side,
        macros.label_of(winner) as rating

    from intermediate.int_opinions
    where not is_adjudicated and dimension = 'overall' and winner is not null

    union all

    select
        opinions.run_tag, opinions.debate_id, opinions.person_id,
        opinions.dimension as unit,
        sides.side,
        cast(case sides.side when 'pro' then opinions.pro_score else opinions.con_score end as double) as rating

    from intermediate.int_opinions as opinions
    cross join (values ('pro'), ('con')) as sides (side)
    where not opinions.is_adjudicated and opinions.dimension <> 'overall'

    union all

    -- Winning teams have no order, so their numbers only say which are the same.
    select
        run_tag, debate_id, person_id,
        'winning_teams' as unit,
        'both' as side,
        cast(dense_rank() over (partition by run_tag order by teams) as double) as rating

    from winning_teams

    union all

    select
        run_tag, debate_id, person_id,
        case dimension when 'overall' then 'team_rank' else dimension end as unit,
        position as side,
        case dimension when 'overall' then rank else cast(score as double) end as rating

    from intermediate.int_team_opinions
    where not is_adjudicated

),

final as (

    select
        ratings.run_tag, ratings.debate_id, clusters.cluster_id, clusters.cluster_unit, ratings.unit, ratings.side,
        ratings.person_id as annotator_a,
        others.person_id as annotator_b,
        ratings.rating as rating_a,
        others.rating as rating_b,
        case ratings.unit
            when 'winning_teams' then cast(case when ratings.rating <> others.rating then 1 else 0 end as double)
            else abs(ratings.rating - others.rating)
        end as difference

    from ratings
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)

    inner join ratings as others
        on ratings.run_tag = others.run_tag
        and ratings.debate_id = others.debate_id
        and ratings.unit = others.unit
        and ratings.side = others.side
        and ratings.person_id < others.person_id

)

select * from final
