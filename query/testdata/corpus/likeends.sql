-- alone
-- A pattern that ends with its escape character is an error only if the match comes to it.
SELECT 'a' LIKE '%_\'
SELECT 'a' LIKE '%\'
SELECT 'a' LIKE '_%\', 'a' LIKE 'a%\', 'a' LIKE '%__\', 'a' LIKE '%%__%\', '' LIKE '%\', 'b' LIKE '%a\'
SELECT 'ab' LIKE '%_%\'
SELECT 'ab' LIKE 'a%\'
SELECT 'éb' LIKE '%__\'
SELECT 'éb' ILIKE '%___\'
SELECT 'ab' LIKE '%!' ESCAPE '!'
SELECT 'ab' LIKE '%!!' ESCAPE '!', 'a\' LIKE '%\\', 'ab' LIKE '%\' ESCAPE ''
