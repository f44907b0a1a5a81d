create macro correlation_low(correlation, n) as
    case
        when n > 3 and abs(correlation) < 1 then tanh(atanh(correlation) - macros.normal_95() / sqrt(n - 3))
    end
