"""The documentation of the SQL models as one HTML page.

content.py       what the page says: SQL models, columns, tests, versions, lineage
graph_layout.py  a drawing of a graph without cycles, in layers
page.py          the page, which needs no other file
"""
