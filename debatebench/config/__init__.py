"""YAML and JSON files → typed, frozen configuration and prompts.

answer_form.py        what a judge's answer must hold, as a schema and in words
attacks.py            attacks.yaml and its templates → how speeches are altered to mislead judges
debatrix_config.py    a configuration of the released Debatrix → prompts, a rubric and a judge
dimensions.py         the dimensions of a rubric, with scales and anchors
jinja_templates.py    templates in Jinja → prompts of ours
load.py               config.yaml, models.yaml, judges.yaml and topics.json → configuration
parts.py              files beside config.yaml: debate formats, rubrics, weaknesses
prompt_files.py       prompt templates are read from their files and checked
prompt_sets.py        a set of prompts with its rubric and judge is written into a workspace
prompts.py            the prompt templates of a run: filled and hashed
setting.py            a value with its place in its file; files are read strictly
transcript_layout.py  how speeches and analyses are laid out in a prompt
types.py              the types of a configuration, validated when they are created
"""
