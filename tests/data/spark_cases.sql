-- Constructs that Spark understands differently, over rows that show the difference: the tables, then one query each.

create schema t;
create table t.rows (
    id bigint, k varchar, n bigint, d decimal(18, 6), x double, words varchar[], numbers double[], whole bigint[],
    items struct(a bigint, b decimal(18, 6))[], text varchar, doc json, held_at timestamp
);
insert into t.rows values
    (1, 'a', 3, 1.5, 2.5, ['b', null, 'a', 'b'], [1.5, null, 2.5], [3, 1], [{'a': 1, 'b': 0.1}, {'a': null, 'b': 0.2}],
        'Größe 12', '{"p": {"k.1": "v", "n": null}, "list": [1, 2], "s": "x"}', '2026-01-02 03:04:05.678'),
    (2, 'a', 0, 0.000001, -3.5, [], [], [], [], '', '{}', '2026-01-02 03:04:05'),
    (3, 'b', null, null, null, null, null, null, null, null, null, null),
    (4, 'b', 7, -2.333333, 0.5, ['z'], [null], [null, 5, 5], [{'a': 7, 'b': -1}], 'an ANT, an ant', '[]', '1970-01-01'),
    (5, 'b', 1, 99999999999.999999, 1e300, [null], [0.1, 0.2, 0.3], [9007199254740993], [null], 'x', '{"p": 1}', null);
create table t.more (k varchar, more bigint);
insert into t.more values ('a', 10), ('c', 30);
create table t.labels (k varchar, label varchar);
insert into t.labels values ('a', 'first'), ('b', 'second');

--- a_quotient_of_decimals_is_a_double
select id, d / 3 as v from t.rows

--- a_quotient_of_integers_is_a_double
select id, 7 / n as v, n / 2 as w from t.rows

--- division_by_zero_is_infinite_or_not_a_number
select id, x / n as v, n / n as w, n / nullif(n, 0) as z from t.rows

--- a_quotient_of_long_expressions_is_infinite_not_a_number_or_null
select k, n,
    (coalesce(n, 2) * 3 - 3 + id - id + whole[1] - whole[1]) / (n * 2 + n * 3 - n * 4 + id * 5 - id * 4 - id) as v,
    (sum(n) over (partition by k order by id) + count(*) over (partition by k) * 0 - 3 - id + id)
    / ((sum(n) over (partition by k order by id) - 3) / (count(n) over (partition by k order by id) * 2 - 2)) as w
from t.rows

--- a_quotient_of_long_sums
select k, (sum(n * 2 + id - id) - sum(n) * 2 - 1) / (count(n) * 2 - count(*) * 2 + count(n + id) * 3 - count(n) * 3) as v
from t.rows group by k

--- numbers_that_are_finite_infinite_or_none
select id, isfinite(x / n) as v, isinf(x / n) as w, isnan(0 / n) as z, isfinite(d) as y from t.rows

--- the_length_of_a_list_and_that_of_a_text_have_one_name
select id, len(words) as v, length(text) as w from t.rows

--- the_length_in_bytes
select id, strlen(text) as v from t.rows

--- a_subscript_counts_from_1_and_is_null_outside
select id, words[1] as a, words[3] as b, words[n] as c, words[-1] as d, words[n + 1] as e, words[len(words)]
as f, items[1].b as g from t.rows

--- list_extract_and_slices
select id, list_extract(words, 2) as a, list_slice(words, 1, 2) as b, words[2:3] as c from t.rows

--- sums_of_lists_leave_nulls_out_and_are_null_without_elements
select id, list_sum(numbers) as a, list_sum(whole) as b, list_avg(numbers) as c, list_count(numbers) as e,
list_sum(list_transform(items, lambda i: i.b)) as f, list_sum(list_transform(items, lambda i: i.b * i.a)) as g
from t.rows

--- the_length_of_a_list_in_a_lambda
select id, list_transform([words, [text]], lambda w: len(w)) as v, list_transform(words, lambda w: len(w)) as
w from t.rows

--- the_second_variable_of_a_lambda_counts_from_1
select id, list_transform(words, lambda w, i: i * 10) as v, list_filter(words, lambda w, i: i > 1) as w from
t.rows

--- a_missing_element_has_no_position
select id, list_position(words, 'b') as v from t.rows

--- what_two_lists_share
select id, list_sort(list_intersect(words, ['b', 'z', 'q'])) as v from t.rows

--- different_elements_without_null
select id, list_sort(list_distinct(words)) as v from t.rows

--- a_null_in_front_of_a_list_is_an_empty_list
select id, list_concat(words, ['end']) as v from t.rows

--- nulls_are_last_in_a_sorted_list
select id, list_sort(words) as v, list_sort(whole) as w from t.rows

--- an_empty_range_is_empty
select id, range(0, n) as a, generate_series(1, n) as b, len(range(1, n)) as c, range(n) as e from t.rows

--- a_row_for_each_number_of_a_range
select i as id, i * 2 as v from range(1, 4) as numbers(i)

--- a_list_keeps_nulls
select k as id, list_sort(list(n)) as v, len(list(n)) as w from t.rows group by k

--- a_list_of_no_rows_is_null
select k as id, list(n) filter (where n > 100) as v, coalesce(list(n) filter (where n > 100), []) as w from
t.rows group by k union all select 'all', list(n), list(n) from t.rows where n > 100

--- a_list_has_its_order
select k as id, list(id order by n desc, id) as a, list(text order by text) as b, list({'n': n} order by x
desc nulls first) as c, list(id order by d nulls first) as e from t.rows group by k

--- a_list_of_different_values
select k as id, list_sort(list(distinct k)) as v from t.rows group by k

--- a_list_over_a_window
select id, list(n) over (partition by k order by id rows between unbounded preceding and current row) as v
from t.rows

--- a_text_of_many_has_its_order
select k as id, string_agg(text, '; ' order by id desc) as v, string_agg(text, ',' order by n) as w from
t.rows group by k

--- the_mean_of_decimals_is_a_double
select k as id, avg(d) as v, avg(n) as w, sum(d) as s from t.rows where id < 5 group by k

--- a_double_is_rounded_to_an_integer_half_to_even
select id, cast(x as bigint) as v from t.rows where id < 5

--- a_decimal_is_rounded_to_an_integer_half_up
select id, cast(d as bigint) as v, cast(n / 2 as bigint) as w from t.rows

--- a_double_becomes_a_decimal_by_its_product
select i as id, cast(round(i / 3, 12) / 2 as decimal(38, 12)) as a, cast(i * 1.005e0 as decimal(18, 2)) as b,
cast(-round(i / 7, 12) / 4 as decimal(38, 12)) as c from range(0, 400) as r(i)

--- decimals_keep_their_digits_in_a_product
select id, cast(d as decimal(30, 15)) * cast(0.000000000001 as decimal(38, 12)) as v from t.rows where id < 5

--- doubles_are_rounded_to_digits
select i as id, round(i * 0.005, 2) as a, round(i * 1.005e0, 2) as b, round(i / 7, 3) as c,
round(i * -0.0125e0, 3) as d, round(i * 8.375e0 * (1 - 5e-16), 12) as e, round(-i * 0.15e0, 1) as f,
round(1e300 * i, 2) as g from range(0, 400) as r(i)

--- an_extreme_leaves_out_nulls
select k as id, arg_max(text, id) as a, arg_min(n, id) as b, arg_max(n, x) filter (where id < 5) as c from
t.rows group by k

--- any_value_is_not_null
select k as id, any_value(case when id in (1, 5) then n end) as v from t.rows group by k

--- a_quantile_is_interpolated
select k as id, quantile_cont(n, 0.9) as a, median(x) as b from t.rows group by k

--- texts_are_joined_without_nulls
select id, concat(text, ':', n) as a, concat_ws('-', k, text, n) as b, array_to_string(words, '+') as c, text
|| k as e from t.rows

--- flags_and_classes_of_patterns
select id, regexp_replace(text, 'an', 'AN', 'g') as a, regexp_replace(text, 'an', 'AN') as b,
regexp_matches(text, 'größe', 'i') as c,
regexp_replace(text, '(a)(n)', '\2$\1') as i, regexp_replace(text, '(a)(n)', '\2\1', 'gi') as j, regexp_extract(text, '([0-9]+)$', 1) as e, regexp_replace(text,
'[\p{Latin}\P{L}]+', '', 'g') as f, not regexp_matches(text, '[\p{L}\p{N}]') as g, regexp_extract(text, 'n')
as h from t.rows

--- fields_of_json
select id, doc ->> '$.s' as a, doc ->> '$.list' as b, json_extract_string(doc, concat('$.p."', 'k.1', '"')) as
c, doc ->> '$.p' as e from t.rows where id <> 5

--- json_as_a_struct
select id, cast(json_extract_string(doc, '$.list') as bigint[]) as v from t.rows where id = 1

--- lists_are_unnested_side_by_side
select id, unnest(words) as word, unnest(numbers) as number, generate_subscripts(words, 1) as place from
t.rows

--- a_list_is_unnested_in_from
select rows.id, u.w as v from t.rows, unnest(words) as u(w)

--- a_field_of_what_is_unnested
select id, item.a as v, item.b as w from (select id, unnest(items) as item from t.rows)

--- a_key_after_using_beside_on
select k as id, more, label from t.rows left join t.more using (k) left join t.labels on labels.k = rows.k

--- keys_of_a_full_join
select k as id, count(id) as v, max(more) as w from t.rows full join t.more using (k) group by k

--- a_materialized_cte
with m as materialized (select id, n from t.rows) select id, n as v from m

--- rows_that_a_window_chooses
with m as (select rows.id, rows.k, more.more from t.rows left join t.more using (k)) select m.id, m.k as v
from m qualify row_number() over (partition by m.k order by m.id desc) = 1 and m.id > 0

--- ranks_put_nulls_last
select id, rank() over (order by n desc) as v, row_number() over (partition by k order by n, id) as w from
t.rows

--- a_union_by_name
select id, n as v from t.rows union all by name select n as v, 9 as id from t.rows where id = 1

--- keys_of_a_map
select k as id, map(list(id), list(n))[1] as v, map(list(id), list(n))[99] as w from t.rows where id < 5 group
by k

--- times
select id, date_trunc('second', held_at) as v, cast(held_at as varchar) as w, held_at > cast('2000-01-01' as timestamp) as z
from t.rows

--- distinct_pairs_with_nulls
select k as id, count(distinct (k, n)) as v, count(distinct n) as w from t.rows group by k

--- least_and_greatest_without_nulls
select id, least(n, 2) as v, greatest(n, x, 1) as w from t.rows

--- logarithms_of_factorials
select i as id, lgamma(i) as v, lgamma(i / 2) as w, list_sum(list_transform(range(1, 9), lambda j:
exp(lgamma(j) - lgamma(j + 1)))) as z from range(1, 60) as r(i)

--- a_python_function_of_decimals_and_lists
select id, binomial_test(n, 7, 0.5) as a, kendall_tau_b(whole, whole) as b, t_interval(d, 1, 5, 0.95).low as
c from t.rows where id in (1, 3)

--- a_python_function_with_a_struct_of_lists
select 1 as id, bradley_terry_ratings([1, 1, 2], [2, 3, 3], [2, 1, 1], [0, 1, 0], [1, 0, 1], 400).rating as v

--- a_named_window_in_front_of_a_minus
select id, sum(n) over w - rows.n as v from t.rows window w as (partition by k)
