"""The journal of a run: one append-only file, from which everything else can be rebuilt.

events.py   the kinds of events, each with what its readers need
lines.py    one line: sequence number, chained CRC, JSON
reading.py  the events of an intact journal, or every line of a damaged one
writing.py  append events, sync them in groups, set a torn last line aside
"""
