"""Output of the warehouse: reports, exports, documentation, summaries.

samples.py    drawn debates as Markdown files
summaries.py  the original harness's eleven CSV files and its ratings JSON
annotation/   the pages on which people annotate debates
docs/         the documentation of the SQL models as one HTML page
export/       chosen runs as Parquet, JSONL, a DuckDB file or a dbt project
publish/      what was written, copied to storage like S3's and to the Hub of Hugging Face
report/       the static site, rendered from queries
serving/      serve pages to one browser on this computer
view/         the site in a browser, and runs while they play
"""
