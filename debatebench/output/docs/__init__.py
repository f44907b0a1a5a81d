"""The documentation of the SQL models as one HTML page.

content.py  what the page says: SQL models, columns, tests, versions, lineage
page.py     the page as one self-contained file, with a drawing of the graph
"""
