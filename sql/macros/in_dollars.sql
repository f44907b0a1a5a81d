-- The dollar value of an amount in another currency is unknown.
create macro in_dollars(amount, currency) as
    case when coalesce(upper(currency), 'USD') = 'USD' then amount end
