"""Records → `raw.*`, from a journal or from imported files.

annotation_journals.py  the journals of annotations made here → their forms and records
annotation_writing.py   save a form in such a journal
failed_judges.py        the answers of judges that gave no valid verdict, as a file
journal_replies.py      the raw replies in the journal of a run
journal_records.py      the journal of a run → its records and rows
land.py                 rows → `raw.*`: one transaction per run, repeatable, checked by counts
run_marks.py            what people decide about runs: the journal of marks, and `raw.run_marks`
run_settings.py         the settings of a run, from its other landed tables
importers/              formats of other systems → records; kept imports
"""
