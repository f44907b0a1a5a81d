"""A frozen plan → debates → verdicts → journal.

attempts.py        one attempt at a call, and its events in the journal
bans.py            debaters that are banned because they keep giving empty answers
before_run.py      all that can refuse a run before its first request, for the run and for a dry run
budget.py          what a run has spent, what it may have spent, and whether the next request fits
calls.py           durable calls: one request, answered at most once
debate.py          one debate, turn by turn
debate_records.py  the records of a debate that has ended
opening.py         the steps before the first request of a run
pacing.py          when a request may leave: concurrency, rate limits, order
panel.py           a panel judges a debate; failed judges are replaced
probe.py           tiny requests before a run
progress.py        counters of a run, and what follows from them
rate_limits.py     the configured limits of a provider or model
reparsing.py       stored answers of judges, parsed again with the current parser
remaining.py       which calls of a run are left, from its journal
repricing.py       stored replies, read again for their tokens and priced again
resume.py          what earlier sessions of a run have done, from its journal
retries.py         after a failed attempt at a call: whether there is another one, and when
runner.py          the run: workers, debates, panels, stops
"""
