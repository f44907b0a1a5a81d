-- dbt compares the rows of a unit test exactly. Here numbers of the type double are equal if eight digits are, because the
-- last ones depend on the order in which DuckDB adds; a number below 1e-12 is zero.
{% macro duckdb__get_unit_test_sql(main_sql, expected_fixture_sql, expected_column_names) %}
with actual as (
    select {{ _compared(expected_column_names) }}, 'actual' as actual_or_expected
    from ({{ main_sql }}) as actual_rows
),
expected as (
    select {{ _compared(expected_column_names) }}, 'expected' as actual_or_expected
    from ({{ expected_fixture_sql }}) as expected_rows
)
select * from actual
union all
select * from expected
{% endmacro %}

{% macro _compared(column_names) %}
{%- for name in column_names -%}
    case
        when typeof({{ name }}) <> 'DOUBLE' then cast({{ name }} as varchar)
        when abs(try_cast({{ name }} as double)) < 1e-12 then '0'
        else printf('%.8g', try_cast({{ name }} as double))
    end as {{ name }}
    {%- if not loop.last %}, {% endif %}
{%- endfor -%}
{% endmacro %}
