-- The number times 2654435761, modulo 2 ** 32, is spread evenly and depends only on the number.
create macro is_sampled(number, wanted, total) as
    total <= wanted or number * 2654435761 % 4294967296 < 4294967296 * wanted / total
