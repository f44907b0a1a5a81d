create macro normal_95() as
    cast(1.959963984540054 as double)
