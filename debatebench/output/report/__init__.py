"""The static site: pages rendered from queries on a read-only warehouse.

chart_parts.py  what charts share: frame, axes, colours, values and names
charts.py       rows → chart specifications for plotly, as plain data
colours.py      colour scales of heat maps, and the ink that can be read on them
folder.py       new files in, old files of the site out, other files untouched
html.py         values → HTML; everything from the warehouse is text there
page.py         page definitions of `reports/pages` → typed pages of sections
render.py       pages and runs → HTML, page by page
sections.py     a section's query and rows → what its template shows
site.py         every page, put in place as one folder
"""
