"""The documentation of the SQL models: one HTML page of all, and the marts with their questions in Markdown.

content.py     what the page says: SQL models, columns, tests, versions, lineage
marts_page.py  the marts by subject, as Markdown
page.py        the page as one self-contained file, with a drawing of the graph
"""
