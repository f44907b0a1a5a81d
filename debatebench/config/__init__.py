"""YAML and JSON files → typed, frozen configuration and prompts.

load.py               config.yaml, models.yaml, judges.yaml and topics.json → configuration
prompts.py            read, check, fill and hash prompt templates
setting.py            a value with its place in its file; files are read strictly
transcript_layout.py  how speeches and analyses are laid out in a prompt
types.py              the types of a configuration, validated when they are created
verdict_schema.py     the JSON schema of a judge's answer
"""
