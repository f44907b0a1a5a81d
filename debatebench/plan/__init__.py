"""Configuration → a frozen plan: every debate with sides, seed and panel, and the expected cost and time.

attacks.py           which side of a stored debate attacks its judges, and what they read then
estimate.py          the calls, tokens, cost and time of a plan
frozen_plan.py       the plan of a run that has begun, from its journal and today's inputs
judge_calls.py       the calls of the judges of each debate, from their methods played with made-up answers
judged_plan.py       stored debates → the plan of a run that judges them again
panels.py            which judges sit on the panel of which debate, drawn or balanced
plan.py              a plan as plain data
plan_file.py         a plan as a file, read whole or one shard of it
plan_differences.py  what differs between two plans, in words, and which changed entries a run may go on with
plan_records.py      a plan → records
prices.py            configured prices, or those of the provider's catalogue when the run begins
schedule.py          topics × pairs × repetitions → debates
selection.py         which topics, debaters and judges take part
shards.py            which debates belong to which shard, and its part of budget and limits
source.py           the stored debates that a run judges again
stored_use.py        tokens and lengths of stored answers, by model
teams.py             which four debaters debate in British Parliamentary format, and at which positions
weaknesses.py        which debate gets which weakness, on which side
"""
