"""The warehouse file as a whole: land, build, publish, check.

doctor.py      find problems in a workspace; change nothing unless asked to
publish.py     change a copy of the warehouse, then replace the old one with it
up_to_date.py  whether the warehouse is up to date, without opening it
update.py      land the journals and imports that changed, build, publish
"""
