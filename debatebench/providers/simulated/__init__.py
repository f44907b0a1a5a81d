"""The offline provider: seeded debaters and judges that cost nothing.

judging.py   how a simulated judge judges
provider.py  the provider
speech.py    how a simulated debater speaks
themes.py    what simulated debaters can argue
"""
