"""YAML and JSON files → typed, frozen configuration and prompts.

load.py               config.yaml, models.yaml, judges.yaml and topics.json → configuration
prompts.py            prompt templates: read, checked, filled, hashed
setting.py            a value that knows its place in its file; files read strictly
transcript_layout.py  how speeches are laid out in a prompt, and found in it again
types.py              the types of a configuration, valid once they exist
"""
