{#- The number of rows lies between `min` and `max`, or equals that of the relation `same_as`. -#}
{% test row_count(model, min=none, max=none, same_as=none) %}

with

found as (

    select count(*) as rows_found
    from {{ model }}

),

expected as (

    select {% if same_as is none %}cast(null as bigint) as rows_expected{% else %}count(*) as rows_expected
    from {{ same_as }}{% endif %}

)

select *
from found
cross join expected
where
    rows_found <> rows_expected
    {%- if min is not none %}
    or rows_found < {{ min }}
    {%- endif %}
    {%- if max is not none %}
    or rows_found > {{ max }}
    {%- endif %}

{% endtest %}
