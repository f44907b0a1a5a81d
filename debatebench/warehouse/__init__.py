"""The warehouse file as a whole: land, build, publish, check.

doctor.py      what is wrong with a workspace; changes nothing unless asked to
publish.py     change a copy of the warehouse, then put it in the place of the old one
up_to_date.py  whether a build has anything to do, without opening the warehouse
update.py      land the journals and imports that changed, build, publish
"""
