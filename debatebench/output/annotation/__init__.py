"""The annotation page: people read debates in a browser and judge them; everything they save is in a journal at once.

The page is served to this computer only. It shows a motion, speeches and a rubric, and nothing that could sway a
person: no debaters, no weaknesses, no judges and no other people's annotations.

app.py          the addresses of the pages, and what they answer
assignments.py  who annotates which debates, in which order, and how that changes
debates.py      what a page may show of a run: the topic, the speeches and the rubric, as its judges had them
form.py         what a form may hold, and what it must hold to be handed in
form_words.py   the words for the state of a form, and for what a change of it changed
merging.py      one person's forms from two computers
review.py       what people differ and agree on, and the verdict that a reviewer records
review_views.py what the pages of a review show
session.py      one annotator's work: the forms, their order and the progress
views.py        the pages as HTML
"""
