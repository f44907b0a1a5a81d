{#- Every combination of `columns` exists in `fields` of `to`; a null in any of them passes. -#}
{% test relationships_of_columns(model, to, columns, fields) %}

select child.*
from {{ model }} as child
where
    {%- for column in columns %}
    child.{{ adapter.quote(column) }} is not null and
    {%- endfor %}
    not exists (
        select 1
        from {{ to }} as parent
        where
            {%- for column in columns %}
            parent.{{ adapter.quote(fields[loop.index0]) }} = child.{{ adapter.quote(column) }}
            {%- if not loop.last %} and{% endif %}
            {%- endfor %}
    )

{% endtest %}
