"""The static site: pages rendered from queries on a read-only warehouse.

calls_data.py   the calls of debates as data for the page of debates
chart_parts.py  common parts of charts: frame, axes, colours, values and names
charts.py       rows → chart specifications for plotly, as plain data
check.py        whether a site still is what the warehouse gives
choice.py       what a site is about: its title, runs, front and comparisons
colours.py      colour scales of heat maps, and a readable text colour for each colour
console.py      the SQL console: the marts as a DuckDB file, and DuckDB-WASM from npm
data_files.py   data for scripts: an object → a compressed script
debates_data.py the debates of the site as data for the page of debates
downloads.py    the marts as files to download: CSV and Parquet
filter_data.py  the decided debates of a run as columns, for filters in a browser
folder.py       replace the files of the site; leave other files unchanged
fragments.py    the leaderboard of a run as HTML snippet, SVG and Markdown
html.py         values → HTML; all text from the warehouse is escaped
links.py        links to pages, and to the debates that a number counts
manifest.py     what a site was made from, for its manifest
name_places.py  where the names of points are written, so that they do not cover each other
page.py         page definitions of `reports/pages` → typed pages of sections
page_differences.py  how two versions of a file of a site differ
page_time.py    the time that pages state
pictures.py     chart specifications → SVG, PDF and PNG, drawn by an installed browser
places.py       values that occur often, each written once
plots.py        sections of `reports/plots` → plots of a run for papers and READMEs
reasons.py      why an interval or a p value is missing, or what it does not say, in words
render.py       pages and what they are about → HTML, page by page
search_index.py a word index of the texts of debates, in parts that a page loads on demand
sections.py     a section's query and rows → the values of its template
site.py         write all pages and assets as one folder
slope_chart.py  rows → lines from before to now, with names beside them
stored_once.py  what many queries of a site read, stored when the first of them runs
subjects.py     what pages are about: the site, a run, a comparison, a debater
"""
