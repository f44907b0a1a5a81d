{#- Every value lies between `min` and `max`, ends included unless `inclusive` is false; nulls pass. A limit may be an
    expression, such as another column's name. -#}
{% test range(model, column_name, min=none, max=none, inclusive=true) %}
{%- set equal = '' if inclusive else '=' -%}
{%- set limits = [] -%}
{%- if min is not none %}{% do limits.append(adapter.quote(column_name) ~ ' <' ~ equal ~ ' (' ~ min ~ ')') %}{% endif -%}
{%- if max is not none %}{% do limits.append(adapter.quote(column_name) ~ ' >' ~ equal ~ ' (' ~ max ~ ')') %}{% endif %}

select *
from {{ model }}
where {{ limits | join(' or ') }}

{% endtest %}
