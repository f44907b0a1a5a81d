create macro weakened_note(count_weakened, count_decided) as
    case
        when count_weakened > 0 then
            concat(
                case
                    when count_weakened = count_decided
                        then concat('No debate is rated: all ', count_decided, ' decided ones have')
                    else concat('Not rated: ', count_weakened, ' of ', count_decided, ' decided debates, which have')
                end,
                ' an injected weakness that can cost its debater the win.'
            )
    end
