"""The documentation of the SQL models as one HTML page.

content.py       the contents of the page: SQL models, columns, tests, versions, lineage
graph_layout.py  a drawing of a graph without cycles, in layers
page.py          the page as one self-contained file
"""
