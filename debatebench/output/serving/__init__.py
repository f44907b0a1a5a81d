"""Serve pages to one browser on this computer, and to nobody else.

guard.py  which requests are answered, and the headers of every answer
serve.py  listen on a port of this computer, open the browser, stop at a signal
"""
