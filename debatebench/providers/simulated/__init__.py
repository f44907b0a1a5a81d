"""The offline provider: seeded debaters and judges that cost nothing.

flaws.py     flaws that speeches show, and judges that find them at a known rate
judging.py   how a simulated judge judges
notes.py     what it writes in one step for later ones
phrases.py   what they say and recognise, from phrases.yml
provider.py  the provider
signs.py     what it counts
speech.py    how a simulated debater speaks
swaying.py   how a simulated judge is led by what a speech says to it
"""
