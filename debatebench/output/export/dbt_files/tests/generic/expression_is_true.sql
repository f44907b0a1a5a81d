{#- The expression holds in every row; under a column it follows the column's name (`>= 0`). Null passes. -#}
{% test expression_is_true(model, expression, column_name=none) %}

select *
from {{ model }}
where not ({% if column_name %}{{ adapter.quote(column_name) }} {% endif %}{{ expression }})

{% endtest %}
