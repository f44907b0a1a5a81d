"""The warehouse file as a whole: land, build, publish, check.

archive.py           move the journal or import of a run to the archive, and back
blank.py             every SQL model built on no data, kept in the user's cache for first builds
doctor.py            find problems in a workspace, and change nothing
journal_findings.py  problems in the lines of a journal, and in the journals of annotations
publish.py           change a copy of the warehouse, then replace the old one with it
run_list.py          every run with its state, marks and source
salvage.py           copy the sound events of a damaged journal
sources.py           the journals and imports, and whether they still hold what was landed
up_to_date.py        whether the warehouse is up to date, without opening it
update.py            land the journals and imports that changed, build, publish
"""
