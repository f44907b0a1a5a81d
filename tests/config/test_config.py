"""Configuration files are read strictly, in both of their forms, and refused with one clear sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from debatebench.config.load import (
    Config,
    MemberConfig,
    RateLimits,
    load_config,
    load_debaters,
    load_judges,
    load_quick_test,
    load_topics,
)
from debatebench.config.setting import LARGEST_FILE
from debatebench.shared.errors import ConfigError
from debatebench.shared.workspace import packaged

LEAST = """\
debate:
  rounds: [{role: pro, stage: opening}]
scoring:
  dimensions: {clarity: {min: 1, max: 10}}
"""

MODEL = "- {id: a, provider: simulated, model: a"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


def refusal(load: Callable[[Path], Any], path: Path) -> str:
    """The message of the refusal, with the file as `FILE`."""
    with pytest.raises(ConfigError) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message.replace(str(path), "FILE")


# The original harness's files


def test_the_original_config_loads_as_it_is(shared: Path) -> None:
    config = load_config(shared / "debatebench-v0/configs/config.yaml")
    assert (config.benchmark_name, config.benchmark_version, config.rubric_version) == ("DebateBench", "v0.1", "v0.1")
    assert [(turn.role, turn.stage, turn.max_tokens) for turn in config.rounds] == [
        (role, stage, None) for stage in ("opening", "rebuttal", "closing") for role in ("pro", "con")
    ]
    assert list(config.dimensions) == ["persuasiveness", "reasoning", "factuality", "clarity", "safety"]
    assert all(d.min == 1 and d.max == 10 and d.description for d in config.dimensions.values())
    assert config.system_prompt_pro is not None
    assert config.system_prompt_pro.startswith("You are the PRO side")
    assert config.judge_system_prompt is not None
    assert "No winner field" in config.judge_system_prompt
    assert (config.elo.initial_rating, config.elo.k_factor, config.elo.min_games_for_display) == (400, 32, 5)
    assert (config.judges_per_debate, config.temperature, config.on_refusal) == (3, 0.7, "void")


def test_the_original_topics_debaters_and_judges_load_as_they_are(shared: Path) -> None:
    folder = shared / "debatebench-v0/configs"
    topics, models, judges = (
        load_topics(folder / "topics.json"),
        load_debaters(folder / "models.yaml"),
        load_judges(folder / "judges.yaml"),
    )
    assert (len(topics), len(models), len(judges)) == (50, 9, 9)
    assert (topics[0].id, topics[0].category, topics[0].info_slide) == ("t001", "privacy", None)
    assert models[0].model == "anthropic/claude-opus-4.5"
    assert models[0].token_limit is None
    assert models[0].parameters == {"temperature": 0.7}
    assert {judge.prompt_style for judge in judges} == {"default"}
    assert models[0].id == judges[0].id


def test_the_original_quick_test_file_loads_as_it_is(shared: Path) -> None:
    debaters, judges, panel_size = load_quick_test(shared / "debatebench-v0/configs/quick-test-models.yaml")
    assert [debater.id for debater in debaters] == ["x-ai-grok-4.1-fast", "deepseek-deepseek-v3.2"]
    assert len(judges) == 3
    assert panel_size == 3


# The two forms


def test_the_flat_form_means_what_the_nested_form_means(write: Callable[[str, str], Path]) -> None:
    nested = load_config(
        write(
            "nested.yaml",
            """\
benchmark: {name: B, version: v7, rubric_version: r2}
debate:
  language: de
  temperature: 0.3
  on_refusal: forfeit
  system_prompt_pro: for it
  rounds:
    - {role: pro, stage: opening, max_tokens: 900}
    - {role: con, stage: opening, max_tokens: 800, language: fr}
scoring:
  judges_per_debate: 2
  judge_system_prompt: judge it
  dimensions:
    clarity: {min: 1, max: 7, description: Clear}
    logic: {min: 1, max: 7}
elo: {initial_rating: 1500, k_factor: 16, min_games_for_display: 0}
""",
        )
    )
    flat = load_config(
        write(
            "flat.yaml",
            """\
benchmark_name: B
benchmark_version: v7
rubric_version: r2
language: de
debate_temperature: 0.3
on_refusal: forfeit
system_prompt_pro: for it
system_prompt_con: null
judge_system_prompt: judge it
num_judges: 2
rounds:
  - {speaker: pro, stage: opening, token_limit: 900, language: null}
  - {speaker: con, stage: opening, token_limit: 800, language: fr}
scoring:
  dimensions:
    - {id: clarity, name: Clear}
    - {id: logic, name: null}
  scale_min: 1
  scale_max: 7
elo: {initial_rating: 1500.0, k_factor: 16.0, min_games_for_display: 0}
""",
        )
    )
    assert flat == nested
    assert flat.on_refusal == "forfeit"


@pytest.mark.parametrize(
    "scale", ["scale_min: 0\nscale_max: 5", "scale: {min: 0, max: 5}", "scoring: {scale: {min: 0, max: 5}}"]
)
def test_a_list_of_dimension_names_shares_one_scale(write: Callable[[str, str], Path], scale: str) -> None:
    text = f"rounds: [{{role: pro}}]\ndimensions: [clarity, logic]\n{scale}\ninitial_rating: 1000\nk_factor: 10\n"
    config = load_config(write("c.yaml", text))
    assert {name: (d.min, d.max) for name, d in config.dimensions.items()} == {"clarity": (0, 5), "logic": (0, 5)}
    assert config.rounds[0].stage == "turn"
    assert (config.elo.initial_rating, config.elo.k_factor) == (1000, 10)


def test_a_setting_in_both_forms_at_once_is_refused(write: Callable[[str, str], Path]) -> None:
    path = write("c.yaml", LEAST + "num_judges: 5\n" + "language: en\n")
    path.write_text(path.read_text().replace("scoring:\n", "scoring:\n  judges_per_debate: 3\n"))
    assert refusal(load_config, path) == (
        "FILE: num_judges: found a setting that scoring.judges_per_debate also sets; allowed: one of the two."
    )


def test_every_dimension_keeps_its_own_scale_exactly(write: Callable[[str, str], Path]) -> None:
    text = LEAST.replace(
        "{clarity: {min: 1, max: 10}}",
        "{clarity: {min: -1.5, max: 0.1}, logic: {min: 0, max: 100}, style: null, "
        "grip: {min: 0, max: 1, integer: false}}",
    )
    dimensions = load_config(write("c.yaml", text)).dimensions
    assert {name: (d.min, d.max, d.is_integer) for name, d in dimensions.items()} == {
        "clarity": (Decimal("-1.5"), Decimal("0.1"), False),
        "logic": (Decimal(0), Decimal(100), True),
        "style": (Decimal(1), Decimal(10), True),
        "grip": (Decimal(0), Decimal(1), False),
    }


def test_a_dimension_may_have_a_weight_and_a_band_of_scores_that_count_as_ties(
    write: Callable[[str, str], Path],
) -> None:
    text = "rounds: [{role: pro}]\ndimensions: {logic: {weight: 3}, style: {tie_band: 0.5, weight: 2}, wit: }\n"
    config = load_config(write("c.yaml", text))
    assert {name: (d.weight, d.tie_band) for name, d in config.dimensions.items()} == {
        "logic": (3, 0),
        "style": (2, Decimal("0.5")),
        "wit": (1, 0),
    }
    rows = {row["dimension"]: row for row in config.model_dump(mode="json")["dimensions"]}
    assert not {"weight", "tie_band"} & rows["wit"].keys()
    assert type(config).model_validate(config.model_dump(mode="json")) == config


def test_the_rubric_version_is_the_benchmark_version_unless_given(write: Callable[[str, str], Path]) -> None:
    versioned = LEAST + "benchmark: {version: v9}\n"
    assert load_config(write("a.yaml", versioned)).rubric_version == "v9"
    given_here = versioned.replace("scoring:", "scoring:\n  rubric_version: r1")
    assert load_config(write("b.yaml", given_here)).rubric_version == "r1"


def test_text_that_other_readers_take_for_something_else_stays_text(write: Callable[[str, str], Path]) -> None:
    config = load_config(write("c.yaml", LEAST + "benchmark: {version: 2025-01-31}\nlanguage: no\n"))
    assert (config.benchmark_version, config.language) == ("2025-01-31", "no")


def test_prices_per_token_are_exact(write: Callable[[str, str], Path]) -> None:
    models = load_debaters(write("m.yaml", f'{MODEL}, pricing: {{prompt: 3e-7, completion: "0.0000015"}}}}\n'))
    assert models[0].pricing is not None
    assert models[0].pricing.prompt == Decimal("3E-7")
    assert models[0].pricing.completion == Decimal("0.0000015")


def test_a_list_of_models_needs_no_key_above_it(write: Callable[[str, str], Path]) -> None:
    as_list = load_debaters(write("a.yaml", MODEL + "}\n"))
    assert as_list == load_debaters(write("b.yaml", "models:\n  " + MODEL + "}\n"))
    assert load_topics(write("t.yaml", "topics: [{id: t1, motion: M.}]"))[0].motion == "M."


def test_an_empty_pool_of_judges_loads_because_debaters_may_judge(write: Callable[[str, str], Path]) -> None:
    assert load_judges(write("j.yaml", "judges: []\n")) == ()


def test_a_quick_test_entry_without_provider_is_openrouters(write: Callable[[str, str], Path]) -> None:
    text = "models: [{id: a, model: x/a}]\njudges: [{id: b, model: x/b}]\n"
    debaters, judges, panel_size = load_quick_test(write("q.yaml", text))
    assert (debaters[0].provider, judges[0].provider, panel_size) == ("openrouter", "openrouter", None)


def test_a_config_keeps_the_order_of_its_dimensions_through_sorted_json(write: Callable[[str, str], Path]) -> None:
    text = LEAST.replace("{clarity: {min: 1, max: 10}}", "{zeal: {min: 0, max: 0.5}, clarity: {}, logic: {}}")
    config = load_config(write("c.yaml", text))
    again = Config.model_validate(json.loads(json.dumps(config.model_dump(mode="json"), sort_keys=True)))
    assert again == config
    assert list(again.dimensions) == ["zeal", "clarity", "logic"]


# What ships


def test_the_shipped_configuration_loads() -> None:
    folder = packaged("configs")
    config = load_config(folder / "config.yaml")
    topics = load_topics(folder / "topics.json")
    debaters = load_debaters(folder / "models.yaml")
    judges = load_judges(folder / "judges.yaml")
    assert len(config.rounds) == 6
    assert len(config.dimensions) == 5
    assert len(topics) >= 24
    assert all(topic.category for topic in topics)
    assert len({topic.motion for topic in topics}) == len(topics)
    assert sum(topic.info_slide is not None for topic in topics) >= 2
    assert len(debaters) == 6
    assert len(judges) == 5 >= config.judges_per_debate
    assert {member.provider for member in (*debaters, *judges)} == {"simulated"}
    assert not any(judge.is_same_as(debater) for judge in judges for debater in debaters)


@pytest.mark.parametrize("name", ["models.yaml", "judges.yaml"])
def test_the_hosted_entries_in_the_shipped_comments_load_too(write: Callable[[str, str], Path], name: str) -> None:
    text = (packaged("configs") / name).read_text(encoding="utf-8")
    uncommented = "".join(
        line.removeprefix("#") + "\n" for line in text.splitlines() if line.startswith(("#  ", "#\n"))
    )
    members = load_debaters(write(name, "models:\n" + uncommented))
    assert {member.provider for member in members} == {"openrouter", "openai", "http"} | (
        {"gemini"} if name == "models.yaml" else set()
    )


# Refusals


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "FILE: debate.rounds: found nothing; allowed: a list with at least one turn."),
        ("[]", "FILE: found an empty list; allowed: a mapping."),
        ("debate: x", "FILE: debate: found 'x'; allowed: a mapping."),
        (
            LEAST.replace("rounds:", "rouns:"),
            "FILE: debate.rouns: found an unknown key (did you mean 'rounds'?); allowed: language, on_refusal, "
            "rounds, system_prompt_con, system_prompt_pro, temperature.",
        ),
        (
            LEAST.replace("role: pro", "role: judge"),
            "FILE: debate.rounds[0].role: found 'judge'; allowed: pro, con, OG, OO, CG, CO.",
        ),
        (
            LEAST.replace("role: pro, ", ""),
            "FILE: debate.rounds[0].role: found nothing; allowed: pro, con, OG, OO, CG, CO.",
        ),
        (
            LEAST.replace("[{role: pro, stage: opening}]", "[]"),
            "FILE: debate.rounds: found an empty list; allowed: a list with at least one turn.",
        ),
        (
            LEAST.replace("[{role: pro, stage: opening}]", "{role: pro}"),
            "FILE: debate.rounds: found a mapping; allowed: a list.",
        ),
        (
            LEAST.replace("stage: opening", "stage: opening, max_tokens: 0"),
            "FILE: debate.rounds[0].max_tokens: found 0; allowed: a whole number of at least 1.",
        ),
        (
            LEAST.replace("stage: opening", "stage: opening, max_tokens: true"),
            "FILE: debate.rounds[0].max_tokens: found true; allowed: a whole number of at least 1.",
        ),
        (
            LEAST.replace("{clarity: {min: 1, max: 10}}", "{}"),
            "FILE: scoring.dimensions: found an empty mapping; allowed: at least one dimension, as a mapping of names "
            "to {min, max, description}.",
        ),
        (
            LEAST.replace("min: 1, max: 10", "min: 10, max: 10"),
            "FILE: scoring.dimensions.clarity.min: found 10; allowed: min below max (found 10 and 10).",
        ),
        (
            LEAST.replace("min: 1, max: 10", "min: 12"),
            "FILE: scoring.dimensions.clarity.min: found 12; allowed: min below max (found 12 and 10).",
        ),
        (
            LEAST.replace("min: 1,", "min: one,"),
            "FILE: scoring.dimensions.clarity.min: found 'one'; allowed: a number (written without quotes).",
        ),
        (
            LEAST.replace("min: 1,", "min: 0.0000001,"),
            "FILE: scoring.dimensions.clarity.min: found 1e-07; allowed: a number from -1,000,000 to "
            "1,000,000 with at most six decimals.",
        ),
        (
            LEAST.replace("{clarity: {min: 1, max: 10}}", "[clarity, clarity]"),
            "FILE: scoring.dimensions[1]: found 'clarity'; allowed: dimensions without duplicates.",
        ),
        (
            "rounds: [{role: pro}]\ndimensions: [a]\nscale_min: 3\nscale_max: 2\n",
            "FILE: scale_max: found 2; allowed: a number above the lower end, which is 3.",
        ),
        (
            LEAST + "benchmark: {version: 1.0}\n",
            "FILE: benchmark.version: found 1.0; allowed: text (write it in quotes).",
        ),
        (
            LEAST + "elo: {k_factor: 0}\n",
            "FILE: elo.k_factor: found 0; allowed: a number above 0 and at most 10,000.",
        ),
        (
            LEAST + "elo: {initial_rating: 1e9}\n",
            "FILE: elo.initial_rating: found 1000000000.0; allowed: a number of at least -1,000,000 "
            "and at most 1,000,000.",
        ),
        (
            LEAST + "elo: {min_games_for_display: -1}\n",
            "FILE: elo.min_games_for_display: found -1; allowed: a whole number of at least 0.",
        ),
        (LEAST + "on_refusal: loss\n", "FILE: on_refusal: found 'loss'; allowed: void, forfeit."),
        (LEAST + "temperature: -1\n", "FILE: temperature: found -1; allowed: a number of at least 0."),
        (LEAST + "num_judges: 0\n", "FILE: num_judges: found 0; allowed: a whole number of at least 1."),
        (LEAST + "scoring:\n", "FILE: line 5: found the key 'scoring' twice; allowed: once."),
        (LEAST + "elo: &a {}\n", "FILE: line 5: found the alias or anchor 'a'; allowed: values written out."),
        (LEAST + "elo: *a\n", "FILE: line 5: found the alias or anchor 'a'; allowed: values written out."),
        (
            LEAST + "elo: !!python/object/apply:os.system [ls]\n",
            "FILE: line 5: found the tag 'tag:yaml.org,2002:python/object/apply:os.system'; allowed: values without "
            "tags.",
        ),
        (LEAST + "elo: {k_factor: 1e999}\n", "FILE: line 5: found 1e999; allowed: a finite number."),
        (LEAST + "1: x\n", "FILE: line 5: found a key that is not text; allowed: text (write numbers in quotes)."),
        (
            LEAST + "? [a]\n: x\n",
            "FILE: line 5: found a key that is not text; allowed: text (write numbers in quotes).",
        ),
        (LEAST + "elo: " + "[" * 50_000, "FILE: line 5: found deeper nesting; allowed: at most 32 levels."),
        (
            LEAST + "---\nelo: {}\n",
            "FILE: line 5: expected a single document in the stream, but found another document.",
        ),
        (LEAST + '"a\\nb": 1\n', None),
        (LEAST + "elo: {\n", None),
        ('debate: "\\ud800"', "FILE: debate: found half of a surrogate pair; allowed: Unicode text."),
        ("a: \x01", None),
    ],
)
def test_a_bad_config_is_refused_by_place_finding_and_what_is_allowed(
    write: Callable[[str, str], Path], text: str, message: str | None
) -> None:
    found = refusal(load_config, write("config.yaml", text))
    if message is not None:
        assert found == message


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("- {id: a, provider: p}", "FILE: [0].model: found nothing; allowed: text."),
        ("- a", "FILE: [0]: found 'a'; allowed: a mapping."),
        (MODEL + "}\n" + MODEL + "}", "FILE: [1].id: found 'a'; allowed: ids without duplicates."),
        (
            MODEL.replace("id: a", "id: José") + "}\n" + MODEL.replace("id: a", "id: Jose\u0301") + "}",
            "FILE: [1].id: found 'Jose\u0301'; allowed: ids without duplicates.",
        ),
        (MODEL + ", role: referee}", "FILE: [0].role: found 'referee'; allowed: debater, judge."),
        (MODEL + ", token_limit: 1.5}", "FILE: [0].token_limit: found 1.5; allowed: a whole number of at least 1."),
        (MODEL + ", thinking_tokens: 0}", "FILE: [0].thinking_tokens: found 0; allowed: a whole number of at least 1."),
        (MODEL + ", parameters: [1]}", "FILE: [0].parameters: found a list; allowed: a mapping."),
        (MODEL + ", allow_insecure: yes}", "FILE: [0].allow_insecure: found 'yes'; allowed: true or false."),
        (MODEL + ", trust_reported_cost: usd}", "FILE: [0].trust_reported_cost: found 'usd'; allowed: true or false."),
        (MODEL + ", timeout: 0}", "FILE: [0].timeout: found 0; allowed: a number above 0 and at most 86,400."),
        (MODEL + ", timeout: 10m}", "FILE: [0].timeout: found '10m'; allowed: a number (written without quotes)."),
        (MODEL + ", environment_proxies: 1}", "FILE: [0].environment_proxies: found 1; allowed: true or false."),
        (
            MODEL + ", requests_per_minute: 0}",
            "FILE: [0].requests_per_minute: found 0; allowed: a whole number of at least 1.",
        ),
        (
            "limits: {opnai: {max_concurrency: 1}}\nmodels: [{id: a, provider: openai, model: m}]",
            "FILE: limits.opnai: found 'opnai'; allowed: a provider of this file (openai).",
        ),
        (
            "limits: {openai: {rpm: 1}}\nmodels: [{id: a, provider: openai, model: m}]",
            "FILE: limits.openai.rpm: found an unknown key; "
            "allowed: max_concurrency, requests_per_minute, tokens_per_minute.",
        ),
        (
            MODEL + ", prompt_style: ../secret}",
            "FILE: [0].prompt_style: found '../secret'; allowed: letters, digits, '_' and '-', and not 'user'.",
        ),
        (
            MODEL + ", prompt_style: user}",
            "FILE: [0].prompt_style: found 'user'; allowed: letters, digits, '_' and '-', and not 'user'.",
        ),
        (
            MODEL + ", pricing: {prompt: -1, completion: 0}}",
            "FILE: [0].pricing.prompt: found -1; allowed: a number from 0 to 1 (USD per token).",
        ),
        (
            MODEL + ", pricing: {prompt: cheap, completion: 0}}",
            "FILE: [0].pricing.prompt: found 'cheap'; allowed: a number from 0 to 1 (USD per token).",
        ),
        (MODEL + ", pricing: {prompt: 1}}", "FILE: [0].pricing.completion: found nothing; allowed: a number."),
        ("- {id: 7, provider: p, model: m}", "FILE: [0].id: found 7; allowed: text (write it in quotes)."),
        (
            "- {id: ' a', provider: p, model: m}",
            "FILE: [0].id: found ' a'; allowed: text on one line, of at most 200 characters, "
            "without leading or trailing spaces.",
        ),
        ("models: []", "FILE: models: found an empty list; allowed: a list with at least one debater."),
        ("debaters: []", "FILE: debaters: found an unknown key; allowed: limits, models."),
        ("x", "FILE: found 'x'; allowed: a list."),
    ],
)
def test_a_bad_list_of_debaters_is_refused(write: Callable[[str, str], Path], entry: str, message: str) -> None:
    assert refusal(load_debaters, write("models.yaml", entry)) == message


@pytest.mark.parametrize(
    "entry",
    [
        ", api_key: sk-canary}",
        ", api_key_env: sk-canary}",
        ", parameters: {extra: [{Authorization: sk-canary}]}}",
        ", parameters: {x-api-key: sk-canary}}",
        ", endpoint: 'https://me:sk-canary@host/v1'}",
        ", endpoint: 'https://host/v1?api_key=sk-canary'}",
    ],
)
def test_a_key_in_a_file_is_refused_and_never_shown(write: Callable[[str, str], Path], entry: str) -> None:
    assert "sk-canary" not in refusal(load_debaters, write("models.yaml", MODEL + entry))


def test_an_endpoint_may_carry_a_query_that_is_no_secret(write: Callable[[str, str], Path]) -> None:
    url = "https://host.example/v1/chat/completions?api-version=2024-06-01"
    assert load_debaters(write("m.yaml", f"{MODEL}, endpoint: '{url}'}}"))[0].endpoint == url


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[{"id": "t1", "motion": "M."}, {"id": "t2", "id": "t3", "motion": "M."}]',
            "FILE: [1].id: found the same key twice; allowed: keys without duplicates, and finite numbers.",
        ),
        (
            '[{"id": "t1", "motion": NaN}]',
            "FILE: [0].motion: found NaN; allowed: keys without duplicates, and finite numbers.",
        ),
        (
            '[{"id": "t1", "motion": 1e999}]',
            "FILE: [0].motion: found 1e999; allowed: keys without duplicates, and finite numbers.",
        ),
        ('[{"id": "t1", "motion": "M."},]', None),
        ("[\n{]", None),
        ("[" * 5_000, None),
        ("[" * 40 + "]" * 40, None),
        ("[" + "9" * 6_000 + "]", None),
        (
            '[{"id": "t1", "motion": "\\ud800"}]',
            "FILE: [0].motion: found half of a surrogate pair; allowed: Unicode text.",
        ),
        ('[{"id": "t1", "motion": " "}]', "FILE: [0].motion: found ' '; allowed: text."),
        ('[{"id": "t1", "motion": "M.", "categry": "x"}]', None),
        (
            '[{"id": "t1", "motion": "M."}, {"id": "t1", "motion": "N."}]',
            "FILE: [1].id: found 't1'; allowed: ids without duplicates.",
        ),
        ("[]", "FILE: found an empty list; allowed: a list with at least one topic."),
        ("{}", "FILE: topics: found nothing; allowed: a list with at least one topic."),
    ],
)
def test_bad_topics_are_refused(write: Callable[[str, str], Path], text: str, message: str | None) -> None:
    found = refusal(load_topics, write("topics.json", text))
    if message is not None:
        assert found == message


def test_a_missing_file_is_named_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    assert (
        refusal(load_config, path) == "There is no file FILE; `debatebench init` writes the packaged ones to configs/."
    )


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    assert refusal(load_config, tmp_path) == "FILE is not a file; move it elsewhere, or name a file."


def test_a_file_beyond_the_size_cap_is_refused(write: Callable[[str, str], Path]) -> None:
    assert load_config(write("a.yaml", LEAST + "#" * (LARGEST_FILE - len(LEAST) - 1) + "\n"))
    assert "found more than 1048576 bytes" in refusal(load_config, write("b.yaml", "#" * (LARGEST_FILE + 1)))


def test_a_file_that_is_not_utf8_is_refused_and_a_byte_order_mark_is_not(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(LEAST.encode() + b"language: \xff\n")
    assert refusal(load_config, path) == (
        f"FILE: byte {len(LEAST) + 10}: found a byte that is not UTF-8; allowed: UTF-8 text."
    )
    path.write_bytes(b"\xef\xbb\xbf" + LEAST.replace("\n", "\r\n").encode())
    assert load_config(path).dimensions["clarity"].max == 10


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["debate", "scoring", "rounds", "dimensions", "elo", "id", "min", "role", "scale"])
                | st.text(max_size=5),
                inner,
                max_size=4,
            )
        ),
    )
)
def test_whatever_a_file_holds_it_loads_or_is_refused_on_one_line(tmp_path: Path, data: Any) -> None:
    path = tmp_path / "any.json"
    path.write_text(json.dumps(data))
    messages = []
    for load in (load_config, load_debaters, load_judges, load_topics, load_quick_test):
        try:
            load(path)
        except ConfigError as error:
            messages.append(str(error))
    assert all("\n" not in message and len(message) < 1000 for message in messages)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="ab:-[]{}&*!|>#'\"% \n\t?,\u0085\u2028\x00", max_size=60))
def test_whatever_text_a_yaml_file_holds_it_loads_or_is_refused_on_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "any.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert len(str(caught.value).splitlines()) == 1


def test_limits_are_of_an_entry_and_of_all_entries_of_a_provider(write: Callable[[str, str], Path]) -> None:
    text = """
    limits: {openai: {max_concurrency: 9}}
    models:
      - {id: a, provider: openai, model: m, requests_per_minute: 5, tokens_per_minute: 700}
      - {id: b, provider: http, model: m, max_concurrency: 2}
    """
    a, b = load_debaters(write("models.yaml", text))
    assert (a.limits, a.provider_limits) == (
        RateLimits(requests_per_minute=5, tokens_per_minute=700),
        RateLimits(max_concurrency=9),
    )
    assert (b.limits, b.provider_limits) == (RateLimits(max_concurrency=2), RateLimits())


def test_limits_are_no_part_of_what_a_run_freezes(write: Callable[[str, str], Path]) -> None:
    (plain,) = load_debaters(write("plain.yaml", MODEL + "}"))
    (limited,) = load_debaters(
        write("limited.yaml", MODEL + ", max_concurrency: 1, requests_per_minute: 1, timeout: 5}")
    )
    assert plain.model_dump(mode="json") == limited.model_dump(mode="json")
    assert MemberConfig.model_validate(limited.model_dump(mode="json")) == plain
