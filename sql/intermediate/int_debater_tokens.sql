-- One row per scored, metered debate and side: what its debater wrote and scored, and its lead over its opponent.
with

side_tokens as (

    select
        run_tag, debate_id,
        cast(sum(case when side = 'pro' then completion_tokens end) as double) as pro_tokens,
        cast(sum(case when side = 'con' then completion_tokens end) as double) as con_tokens,
        count(case when side = 'pro' and completion_tokens is null then 1 end) as pro_unmetered,
        count(case when side = 'con' and completion_tokens is null then 1 end) as con_unmetered

    from intermediate.int_debate_turns
    group by run_tag, debate_id

),

debates as (

    select
        debate_means.run_tag, debate_means.debate_id, clusters.cluster_unit, clusters.cluster_id,
        debate_means.pro_model_id, debate_means.con_model_id, side_tokens.pro_tokens, side_tokens.con_tokens,
        debate_means.pro_mean_score, debate_means.con_mean_score

    from intermediate.int_debate_means as debate_means
    inner join side_tokens using (run_tag, debate_id)
    inner join intermediate.int_clusters as clusters using (run_tag, debate_id)

    where
        debate_means.trial = 1
        and side_tokens.pro_unmetered + side_tokens.con_unmetered = 0
        and side_tokens.pro_tokens is not null
        and side_tokens.con_tokens is not null

),

final as (

    select
        run_tag, debate_id, cluster_unit, cluster_id,
        case side when 'pro' then pro_model_id else con_model_id end as model_id,
        case side when 'pro' then pro_tokens else con_tokens end as tokens,
        case side when 'pro' then pro_mean_score else con_mean_score end as score,
        case side when 'pro' then pro_tokens - con_tokens else con_tokens - pro_tokens end as token_gap,
        case side when 'pro' then pro_mean_score - con_mean_score else con_mean_score - pro_mean_score end as score_gap

    from debates
    cross join (values ('pro'), ('con')) as sides (side)
    where pro_model_id <> con_model_id

)

select * from final
