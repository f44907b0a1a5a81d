-- One row per judge, format, truth and dimension (or `overall`) with predictions and winners by the truth: Cohen's kappa.
with

-- Clusters are left out one at a time, or if there are more than 200, in 200 parts.
debates as (

    select
        run_tag, judge_id, format, truth, dimension, true_winner, pro_rate, tie_rate, con_rate,
        (dense_rank() over (partition by run_tag, judge_id, format, truth, dimension order by cluster_id) - 1) % 200 as part

    from marts.judge_errors
    where true_winner is not null and pro_rate is not null

),

-- Each debate counts once: of its prediction, the shares of its trials.
parts as (

    select
        run_tag, judge_id, format, truth, dimension, part,
        count(*) as n,
        sum(
            cast(
                case true_winner when 'pro' then pro_rate when 'tie' then tie_rate when 'con' then con_rate end
                as decimal(38, 18)
            )
        ) as agree,
        count(case when true_winner = 'pro' then 1 end) as true_pro,
        count(case when true_winner = 'con' then 1 end) as true_con,
        sum(cast(pro_rate as decimal(38, 18))) as named_pro,
        sum(cast(con_rate as decimal(38, 18))) as named_con

    from debates
    group by run_tag, judge_id, format, truth, dimension, part

),

totals as (

    select
        run_tag, judge_id, format, truth, dimension,
        cast(sum(n) as double) as n,
        cast(sum(agree) as double) as agree,
        cast(sum(true_pro) as double) as true_pro,
        cast(sum(true_con) as double) as true_con,
        cast(sum(named_pro) as double) as named_pro,
        cast(sum(named_con) as double) as named_con,
        list(
            {
                'n': n,
                'agree': cast(agree as double),
                'true_pro': true_pro,
                'true_con': true_con,
                'named_pro': cast(named_pro as double),
                'named_con': cast(named_con as double)
            }
            order by part
        ) as parts

    from parts
    group by run_tag, judge_id, format, truth, dimension

),

final as (

    select
        run_tag, judge_id, format, truth, dimension,
        macros.kappa_from_counts(n, agree, 0, true_pro, true_con, named_pro, named_con, 0) as kappa,
        list_transform(
            parts,
            lambda one:
                macros.kappa_from_counts(
                    n - one.n, agree - one.agree, 0, true_pro - one.true_pro, true_con - one.true_con,
                    named_pro - one.named_pro, named_con - one.named_con, 0
                )
        ) as left_out

    from totals

)

select * from final
