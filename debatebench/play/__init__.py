"""A frozen plan → debates → verdicts → journal.

attempts.py        one attempt at a call, and its events in the journal
bans.py            debaters that keep giving empty answers and are asked no more
budget.py          what a run has spent, what it may have spent, and whether the next request fits
calls.py           durable calls: one request, answered at most once
debate.py          one debate, turn by turn
debate_records.py  the records of a debate that has ended
opening.py         what comes before the first request of a run
pacing.py          when a request may leave: concurrency, rate limits, order
probe.py           tiny requests before a run
progress.py        counters of a run, and what follows from them
reparsing.py       stored answers of judges, read again with today's parser
requests.py        the request to a debater or judge, and its seed
resume.py          what a journal says was done before
runner.py          the run: workers, debates, panels, stops
thinking.py        thinking that a model wrote into its answer is not part of it
judges/            judge methods: from a transcript to a verdict
"""
