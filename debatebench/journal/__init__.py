"""The journal of a run: one append-only file, the truth that everything else is rebuilt from.

lines.py    one line: sequence number, chained CRC, JSON
reading.py  the events of a sound journal, every line of a damaged one
writing.py  append, sync in groups, set a torn last line aside
"""
