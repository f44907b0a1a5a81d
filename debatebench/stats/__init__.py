"""Statistics as pure functions over arrays; `debatebench.udfs` makes them SQL functions."""
