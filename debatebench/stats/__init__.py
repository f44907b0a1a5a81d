"""Statistics as pure functions over arrays; `debatebench.stats.sql` makes them SQL functions."""
