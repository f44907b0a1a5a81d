"""A folder of the shape of a checkout of Debatrix, with texts of our own."""

from __future__ import annotations

from pathlib import Path

__all__ = ["BP_DIMENSIONS", "DIMENSIONS", "checkout"]

SIDES = "{{ info.%s_side|map(attribute='name')|join(', ') }}"
ALL = "{{ info.all_debaters_info|map(attribute='name')|join('/') }}"
COMMON = f"""\
    WHO WRITES: {{{{ info.motion }}}} is what {SIDES % "pro"} and {SIDES % "con"} debate.

    It has {{{{ info.speech_order|length }}}} speeches.
"""
PANEL = f"""\
parser_config:
  schema_prompt_template: |
    AS THIS SCHEMA SAYS, such as {{"foo": ["bar"]}} for a list named foo:
    {{{{ schema }}}}
  fix_prompt_template: |
    REPAIR what follows.
    {{{{ instructions }}}}
    It was:
    {{{{ completion }}}}
    It failed by {{{{ error }}}}.
verdict_extractor_config:
  speech_prompt_template: |
    SCORE OF A SPEECH by {{{{ debater_name }}}}: {{{{ judgment }}}}
  debater_prompt_template: |
    SCORE OF A DEBATER in {{{{ info.motion }}}}
    --------------
    {{{{ judgment }}}}
    --------------
    For {{{{ debater_name }}}} alone, from 1 to 10.
  winner_prompt_template: |
    WINNER in {{{{ info.motion }}}}
    {{{{ judgment }}}}
    One of {ALL}, or "It's a tie!" where nobody wins.
judge_config:
  allow_concurrency: true
  allow_ai_callback: false
  skip_speech_judgement: false
  analyze_speech: true
  iterate_analysis: true
  common_system_prompt: |
{COMMON}
  templates:
    - name: update
      messages:
        - role: system
          content: |
            SPEECH {{{{ prev_content|length + 1 }}}} BY {{{{ new_speech.debater_name }}}}. \
{{% if prev_content|length > 0 %}}You {{% if is_prev_analyses %}}analysed{{% else %}}have{{% endif %}} the others.\
{{% endif %}}

            {{{{ dimension.prompt.analyze_speech }}}}

            {{% if prev_content|length > 0 %}}{{{{ dimension.prompt.use_previous }}}}{{% endif %}}
        - role: human
          content: |
            # Slide

            {{{{ info.info_slide }}}}

            {{% for source, content in prev_content %}}
            # {{{{ source }}}}

            {{{{ content }}}}
            {{% endfor %}}

            # Now by {{{{ new_speech.debater_name }}}}

            {{{{ new_speech.content }}}}
    - name: judge
      messages:
        - role: system
          content: |
            THE END, and you {{% if is_content_analyses %}}analysed{{% else %}}have{{% endif %}} all of it.

            {{% if is_content_analyses %}}{{{{ dimension.prompt.judge_by_analysis }}}}{{% else %}}\
{{{{ dimension.prompt.judge_debate }}}}{{% endif %}}

            Of {ALL}, a tie is {{% if dimension.allow_tie %}}possible{{% else %}}out of the question{{% endif %}}.
        - role: human
          content: |
            {{% if not is_content_analyses %}}
            # Slide

            {{{{ info.info_slide }}}}
            {{% endif %}}

            {{% for source, content in debate_content %}}
            # {{{{ source }}}}

            {{{{ content }}}}
            {{% endfor %}}
panel_config:
  allow_concurrency: true
  allow_ai_callback: false
  common_system_prompt: |
{COMMON}
  templates:
    - name: summarize
      messages:
        - role: system
          content: |
            SUM UP for {ALL}.
        - role: human
          content: |
            {{% for dimension, judgment in verdicts %}}
            {{% if dimension.weight > 0 %}}
            # {{{{ dimension.name|capitalize }}}}

            Weight: {{{{ dimension.weight }}}}

            {{{{ judgment }}}}
            {{% endif %}}
            {{% endfor %}}
"""
DIMENSIONS = {"argument": (3, False), "source": (2, True), "language": (2, True), "general": (0, False)}
"""Dimension → its weight and whether it allows a tie, for debates of two sides."""
BP_DIMENSIONS = dict.fromkeys(("argument", "support", "clash", "language"), (1, True)) | {"general": (0, False)}
"""The same for debates of four teams."""
MODEL = """\
chat_config:
  backend: test
  test_config: {predict_delay: 1}
  openai_config: {model: gpt-3.5-turbo-0125, api_key: sk-secret, base_url: https://api.openai.com/v1, proxy: ""}
embed_config: {backend: test}
"""


def dimensions_of(dimensions: dict[str, tuple[int, bool]], indent: str = "") -> str:
    lines = []
    for name, (weight, allows_tie) in dimensions.items():
        lines += [f"- name: {name}", f"  weight: {weight}", f"  allow_tie: {str(allows_tie).lower()}", "  prompt:"]
        for text in ("judge_debate", "analyze_speech", "use_previous", "judge_by_analysis"):
            lines.append(f'    {text}: "{text} of {name}"')
    return "".join(f"{indent}{line}\n" for line in lines)


def checkout(root: Path) -> Path:
    """The checkout, with a preset for debates of two sides and a configuration for those of four teams."""
    preset, teams = root / "preset" / "example" / "config", root / "PanelBench" / "debatrix_config" / "BP-Competition"
    preset.mkdir(parents=True)
    teams.mkdir(parents=True)
    for folder in (preset, teams):
        (folder / "panel.yml").write_text(PANEL)
    (preset / "manager.yml").write_text(f"should_summarize: true\ndimensions:\n{dimensions_of(DIMENSIONS, '  ')}")
    (preset / "dimension.yml").write_text(dimensions_of(DIMENSIONS))
    (preset / "model.yml").write_text(MODEL)
    (preset / "arena.yml").write_text("streaming_delay: 0.1\nstreaming_chunk_size: 64\n")
    (preset / "recorder.yml").write_text("verdict_only: false\ninclude_prompts: false\n")
    (teams / "dimension.yml").write_text(dimensions_of(BP_DIMENSIONS))
    return root
