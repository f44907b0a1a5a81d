-- ISO 639-1 codes; what follows a hyphen or an underscore, such as a country, does not count.
create macro script_of(language) as
    case
        when regexp_extract(lower(language), '^[a-z]+') in (
            'af', 'az', 'bs', 'ca', 'cs', 'cy', 'da', 'de', 'en', 'es', 'et', 'eu', 'fi', 'fr', 'ga', 'gl', 'hr', 'hu',
            'id', 'is', 'it', 'lt', 'lv', 'ms', 'mt', 'nb', 'nl', 'nn', 'no', 'pl', 'pt', 'ro', 'sk', 'sl', 'sq', 'sv',
            'sw', 'tl', 'tr', 'vi'
        ) then 'Latin'
        when regexp_extract(lower(language), '^[a-z]+') in ('be', 'bg', 'kk', 'ky', 'mk', 'ru', 'uk') then 'Cyrillic'
        when regexp_extract(lower(language), '^[a-z]+') in ('ar', 'fa', 'ps', 'ur') then 'Arabic'
        when regexp_extract(lower(language), '^[a-z]+') in ('hi', 'mr', 'ne') then 'Devanagari'
        when regexp_extract(lower(language), '^[a-z]+') in ('ja', 'ko', 'zh') then 'East Asian'
        when regexp_extract(lower(language), '^[a-z]+') = 'bn' then 'Bengali'
        when regexp_extract(lower(language), '^[a-z]+') = 'el' then 'Greek'
        when regexp_extract(lower(language), '^[a-z]+') in ('he', 'yi') then 'Hebrew'
        when regexp_extract(lower(language), '^[a-z]+') = 'ta' then 'Tamil'
        when regexp_extract(lower(language), '^[a-z]+') = 'th' then 'Thai'
    end
