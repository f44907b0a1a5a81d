-- Verdicts whose winner under version 2 contradicts the means that people see.
select *
from marts.judge_verdicts_v2

where
    (winner = 'pro' and pro_mean < con_mean)
    or (winner = 'con' and pro_mean > con_mean)
    or (winner = 'tie' and pro_mean <> con_mean)
