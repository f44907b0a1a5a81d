"""What one SQL text reads: dependencies, CTEs, and what is refused."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from debatebench.shared.errors import SqlModelError
from debatebench.transform.sql_model import Query, parse_query, read_sql

FILE = Path("sql/marts/example.sql")


def parse(sql: str) -> Query:
    return parse_query(dedent(sql).lstrip("\n"), FILE)


def reads(sql: str) -> list[str]:
    """The dotted names that a query reads."""
    return [reference.name for reference in parse(sql).references]


def test_a_dotted_name_is_a_dependency_with_its_line() -> None:
    query = parse(
        """
        -- One row per debate.
        select * from marts.debates
        inner join staging.stg_topics using (topic_id)
        """
    )
    assert [(r.name, r.line) for r in query.references] == [("marts.debates", 2), ("staging.stg_topics", 3)]


def test_a_cte_named_like_its_source_does_not_hide_the_dependency() -> None:
    assert reads("with debates as (select * from marts.debates) select * from debates") == ["marts.debates"]


def test_a_cte_named_like_a_schema_and_table_does_not_hide_the_dependency() -> None:
    assert reads("with marts as (select 1 as debates) select * from marts, marts.debates") == ["marts.debates"]


@pytest.mark.parametrize(
    "sql",
    [
        "select (select max(n) from marts.a) as n",
        "select 1 where exists (select 1 from marts.a)",
        "select 1 where 1 in (from marts.a)",
        "select * from (with inner_cte as (select * from marts.a) select * from inner_cte) as q",
        "with outer_cte as (with a as (select * from marts.a) select * from a) select * from outer_cte",
        "select s.x from marts.a as t, unnest(t.scores) as u(s)",
        "select * from marts.a union all select * from marts.a",
        "with recursive n as (select 1 as i union all select i + 1 from n where i < 3) select * from n, marts.a",
        "with x as (select 1), y as (select * from x, marts.a) select * from y",
        "select lag(i) over (order by i) from marts.a qualify row_number() over (order by i) = 1",
        "from marts.a select i",
        "select * from MARTS.A",
        "select count(*) filter (where i > 1), list_transform(l, lambda v: v + 1) from marts.a",
        "select * from marts.a, range(3) as r(i), generate_series(1, 3) as g(j)",
        "with l as (select * from marts.a) select (select count(*) from l as inner_l where inner_l.x = l.x) from l",
    ],
)
def test_every_way_of_reading_is_found(sql: str) -> None:
    assert reads(sql) == ["marts.a"]


@pytest.mark.parametrize(
    ("sql", "line"),
    [
        ("select *\nfrom debates", 2),
        ("with a as (select 1)\nselect * from a, b", 2),
        ("with a as (\n    select * from b\n), b as (select 1)\nselect * from a", 2),
        ("with a as (select * from a) select * from a", 1),
        ("select * from (with a as (select 1) select * from a)\nunion all select * from a", 2),
        ("select * from 'speeches.csv'", 1),
        ('select * from "marts.debates"', 1),
    ],
)
def test_a_bare_name_that_is_no_visible_cte_is_refused_by_line(sql: str, line: int) -> None:
    with pytest.raises(SqlModelError, match=rf"^sql/marts/example\.sql:{line}: '.*' is not a CTE"):
        parse(sql)


@pytest.mark.parametrize("function", ["read_csv('x.csv')", "read_parquet('x')", "glob('*')", "query('select 1')"])
def test_functions_that_read_from_outside_are_refused(function: str) -> None:
    with pytest.raises(SqlModelError, match=r"example\.sql:2: '\w+' cannot be read from"):
        parse(f"select *\nfrom {function}")


KNOWN = {
    "marts.debates",
    "staging.stg_debates",
    "raw.debates",
    "marts.winners",
    "marts.winners_v2",
    "intermediate.winners",
}


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("select *\nfrom {{ ref('debates') }}", "2: `{{ ref('debates') }}` is dbt's way; here write marts.debates."),
        ('select * from {{ref("package", "debates")}}', "here write marts.debates."),
        ("select * from {{ ref('Debates') }}", "here write marts.debates."),
        ("select * from {{ ref('winners', v=2) }}", "here write marts.winners_v2."),
        ("select * from {{ ref('winners') }}", "here write marts.winners."),
        ("select * from {{ ref('debtes') }}", "nothing is called 'debtes', the nearest is marts.debates."),
        ("select * from {{ ref('zzz') }}", "here write a dotted name; nothing is called 'zzz'."),
        ("select * from {{ source('raw', 'debates') }}", "here write raw.debates (in staging; everything else"),
        (
            "{{ config(materialized='table') }}\nselect 1",
            "write `config: {materialized: table}` in sql/marts/example.yml.",
        ),
        ("{{ config(materialized='incremental') }}\nselect 1", "`config: {materialized: table, incremental_by: …}`"),
        ("select 1\n{% if is_incremental() %} where x {% endif %}", "2: `{% if is_incremental() %}` is dbt's way"),
        ("{% macro f(x) %} x {% endmacro %}", "an entry of `macros` in YAML"),
        ("{% set x = 1 %}\nselect {{ x }}", "1: `{% set x = 1 %}` is dbt's way; here there are no templates"),
        ("{# a note #}\nselect 1", "a comment begins with `--`"),
        ("select 1 from {{ ref('debates'", "here write marts.debates."),
        ("select * from debates", "1: 'debates' is not a CTE of this query; write marts.debates for a SQL model."),
        (
            "select * from 'x/My file.csv'",
            "a SQL model reads no files; put the rows in sql/seeds/my_file.csv, and write",
        ),
        ("select * from read_csv('data/makers.csv')", "put the rows in sql/seeds/makers.csv, and write seeds.makers."),
        ("select * from read_json_auto(['a.json'])", "put the rows in sql/seeds/a.csv, and write seeds.a."),
        ("select * from scan_arrow_ipc('a')", "put the rows in sql/seeds/a.csv"),
    ],
)
def test_a_dbt_users_words_are_answered_with_what_is_written_here(sql: str, words: str) -> None:
    with pytest.raises(SqlModelError) as refused:
        parse_query(sql, FILE, KNOWN)
    assert words in str(refused.value)
    assert str(refused.value).startswith("sql/marts/example.sql:")


@pytest.mark.parametrize(
    "sql",
    [
        "select '{{ ref(''x'') }}' as x, {'a': {'b': 1}} as y, $$ {% x %} $$ as z",
        "-- as {{ ref('x') }} in dbt\nselect 1 as x /* {# not a comment of dbt #} */",
        'select 1 as "{{ x }}"',
    ],
)
def test_braces_in_text_and_comments_are_not_jinja(sql: str) -> None:
    assert parse_query(sql, FILE).references == ()


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_bytes("\ufeffselect 1 as x".encode())
    assert read_sql(tmp_path / "a.sql") == "select 1 as x"
    (tmp_path / "a.sql").write_bytes("select 1 as x".encode("utf-16"))
    with pytest.raises(SqlModelError, match=r"a\.sql: is not UTF-8 .*save it as UTF-8"):
        read_sql(tmp_path / "a.sql")


def test_another_database_is_refused() -> None:
    with pytest.raises(SqlModelError, match=r"'other\.marts\.debates' has three parts"):
        parse("select * from other.marts.debates")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("", "contains 0 statements"),
        ("-- nothing\n", "contains 0 statements"),
        ("select 1; select 2", "contains 2 statements"),
        ("create table x as select 1", "not a query"),
        ("delete from marts.debates", "not a query"),
        ("drop table marts.debates", "not a query"),
        ("copy marts.debates to 'x'", "not a query"),
        ("select 1\nfrom (x", r"example\.sql:2: this cannot be read as SQL"),
        ("select 'open", "not closed"),
        ("select " + "(" * 20_000 + "1", "nested too deeply"),
        ("select " + "not " * 20_000 + "true", "20,002 words and signs"),
        ("select * from " + "(select * from " * 20_000 + "marts.debates" + ")" * 20_000, "nested too deeply"),
    ],
)
def test_what_is_not_exactly_one_query_is_refused(sql: str, message: str) -> None:
    with pytest.raises(SqlModelError, match=message):
        parse(sql)


def test_a_closing_semicolon_is_allowed_and_left_out() -> None:
    query = parse("select ';' from marts.a ;\n-- the end\n")
    assert ([r.name for r in query.references], query.sql) == (["marts.a"], "select ';' from marts.a")


def test_comments_and_white_space_do_not_count_as_a_change() -> None:
    one, two = parse("select a from marts.x"), parse("-- why\nselect a /* b */\n  from marts.x ;")
    assert one.tokens_sha256 == two.tokens_sha256
    assert one.sha256 != two.sha256


@pytest.mark.parametrize("other", ["select 'b' from marts.x", 'select "B" from marts.x', "select b from marts.x"])
def test_everything_else_counts_as_a_change(other: str) -> None:
    assert parse('select "b" from marts.x').tokens_sha256 != parse(other).tokens_sha256


def test_python_functions_are_found_wherever_they_are_called() -> None:
    query = parse("with r as (select ELO_ratings(list(a)) as x from marts.a) select x[1], sum(elo_path(x)) from r")
    assert set(query.functions) == {"elo_ratings", "elo_path"}
