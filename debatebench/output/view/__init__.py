"""The site in a browser of this computer, and runs while they play.

Nothing here writes to the workspace except below a hidden folder that is deleted at the end. Journals are read as any
other reader does, without locks, and a private copy of the warehouse is built from them, so a run that plays or a
command that publishes never waits.

app.py        the addresses, and what they answer
following.py  a private warehouse and site that are renewed as journals grow
playing.py    how far runs are, from the files that playing processes keep
standing.py   what a warehouse says of a run: how far it is, and its leaderboard
"""
