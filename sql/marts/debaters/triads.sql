-- One row per three debaters of a run who all met each other: whether they beat each other in a circle.
with

-- Each pair from both sides.
sides as (

    select
        pairs.run_tag,
        case when sides.is_first then pairs.model_a else pairs.model_b end as model_id,
        case when sides.is_first then pairs.model_b else pairs.model_a end as opponent_id,
        case when sides.is_first then pairs.a_wins else pairs.b_wins end as wins,
        case when sides.is_first then pairs.b_wins else pairs.a_wins end as losses,
        pairs.ties, pairs.games, pairs.wins_p_value

    from marts.debater_differences as pairs
    cross join (values (true), (false)) as sides (is_first)
    where pairs.games > 0

),

-- With the chance of either majority if win rates were those of the ratings.
edges as materialized (

    select
        sides.run_tag, sides.model_id, sides.opponent_id, sides.wins, sides.losses,
        (sides.wins + 0.5 * sides.ties) / sides.games as win_rate,
        sides.games,
        coalesce(sides.wins_p_value / 2, 1) as p,
        macros.majority_chance(sides.wins + sides.losses, 1 / (1 + power(10, (other.rating - own.rating) / 400)))
            as win_chance,
        macros.majority_chance(sides.wins + sides.losses, 1 / (1 + power(10, (own.rating - other.rating) / 400)))
            as loss_chance

    from sides
    inner join ratings.bradley_terry as own using (run_tag, model_id)
    inner join ratings.bradley_terry as other on sides.run_tag = other.run_tag and sides.opponent_id = other.model_id

),

-- Each three from their first name, in both directions.
circles as (

    select
        one.run_tag,
        one.model_id as model_a,
        two.model_id as model_b,
        three.model_id as model_c,
        one.win_rate as a_against_b_win_rate,
        two.win_rate as b_against_c_win_rate,
        three.win_rate as c_against_a_win_rate,
        one.games + two.games + three.games as games,
        one.wins > one.losses and two.wins > two.losses and three.wins > three.losses as is_cycle,
        one.wins < one.losses and two.wins < two.losses and three.wins < three.losses as is_reversed,
        one.wins = one.losses or two.wins = two.losses or three.wins = three.losses as has_equals,
        greatest(one.p, two.p, three.p) as p,
        one.win_chance * two.win_chance * three.win_chance + one.loss_chance * two.loss_chance * three.loss_chance
            as chance_rate

    from edges as one
    inner join edges as two on one.run_tag = two.run_tag and one.opponent_id = two.model_id
    inner join edges as three
        on two.run_tag = three.run_tag
        and two.opponent_id = three.model_id
        and three.opponent_id = one.model_id
    where one.model_id < two.model_id and one.model_id < three.model_id

),

triads as (

    select
        *,
        case when is_cycle then p end as p_value,
        macros.holm_step(case when is_cycle then p else 1 end, run_tag) as step

    from circles
    where is_cycle or (model_b < model_c and not is_reversed)

),

final as (

    select
        run_tag, model_a, model_b, model_c, is_cycle, a_against_b_win_rate, b_against_c_win_rate, c_against_a_win_rate,
        games, p_value,
        case when is_cycle then macros.holm_p(case when is_cycle then p else 1 end, step, run_tag) end as p_value_holm,
        chance_rate,
        case when is_cycle then null when has_equals then 'equals' else 'no_cycle' end as reason

    from triads

)

select * from final
order by run_tag, is_cycle desc, p_value, model_a, model_b, model_c
