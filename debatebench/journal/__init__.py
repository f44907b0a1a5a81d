"""The journal of a run: one append-only file, from which everything else can be rebuilt.

events.py   the kinds of events, each with what its readers need
lines.py    one line: sequence number, chained CRC, JSON
plan_lines.py  the file of a frozen plan
reading.py  the events of an intact journal, or every line of a damaged one
shards.py   a run in shards: its plan and one journal for each
writing.py  append events, sync them in groups, set a torn last line aside
"""
