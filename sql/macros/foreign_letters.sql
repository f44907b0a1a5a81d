-- Each pattern removes the letters of the script, and everything that is not a letter.
create macro foreign_letters(content, script) as
    case script
        when 'Latin' then length(regexp_replace(content, '[\p{Latin}\P{L}]+', '', 'g'))
        when 'Cyrillic' then length(regexp_replace(content, '[\p{Cyrillic}\P{L}]+', '', 'g'))
        when 'Arabic' then length(regexp_replace(content, '[\p{Arabic}\P{L}]+', '', 'g'))
        when 'Devanagari' then length(regexp_replace(content, '[\p{Devanagari}\P{L}]+', '', 'g'))
        when 'East Asian' then
            length(regexp_replace(content, '[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}ー\P{L}]+', '', 'g'))
        when 'Bengali' then length(regexp_replace(content, '[\p{Bengali}\P{L}]+', '', 'g'))
        when 'Greek' then length(regexp_replace(content, '[\p{Greek}\P{L}]+', '', 'g'))
        when 'Hebrew' then length(regexp_replace(content, '[\p{Hebrew}\P{L}]+', '', 'g'))
        when 'Tamil' then length(regexp_replace(content, '[\p{Tamil}\P{L}]+', '', 'g'))
        when 'Thai' then length(regexp_replace(content, '[\p{Thai}\P{L}]+', '', 'g'))
    end
