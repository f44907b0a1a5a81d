{#- No combination of the columns' values comes twice; here null equals null. -#}
{% test unique_combination_of_columns(model, combination_of_columns) %}
{%- set columns = [] -%}
{%- for column in combination_of_columns %}{% do columns.append(adapter.quote(column)) %}{% endfor %}

select
    {{ columns | join(', ') }},
    count(*) as rows_with_it
from {{ model }}
group by {{ columns | join(', ') }}
having count(*) > 1

{% endtest %}
