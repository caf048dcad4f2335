-- long
-- alone
-- Normal forms have no limit of combining marks.
SELECT length(normalize(repeat(U&'\0301',31))), 'a'||repeat(U&'\0323',40) IS NFD NORMALIZED, repeat(U&'\0301',31) IS NORMALIZED, length(normalize('a' || repeat(U&'\0301',31))), length(normalize(U&'\00e1' || repeat(U&'\0301',40), NFD))
SELECT f, md5(normalize('x' || repeat(U&'\0301\0323\0300\0345', 20) || 'y' || U&'e\0323\0302', f)), is_normalized('x' || repeat(U&'\0301\0323', 20), f) FROM (VALUES ('NFC'), ('NFD'), ('NFKC'), ('NFKD')) v(f)
SELECT f, normalize('a' || repeat(U&'\0302', 40) || U&'\0323\FB01\1100\1161\11A8\AC01\212B\FDFA' || repeat(U&'\0327\0301', 33) || U&'\0915\093C\0344\0340\2126', f) FROM (VALUES ('NFC'), ('NFD'), ('NFKC'), ('NFKD')) v(f)
SELECT length(normalize(repeat(U&'e\0301', 20000) || repeat(U&'\0301', 50) || repeat(U&'\FB01', 20000), NFKC)), md5(normalize(repeat(U&'e\0301\0323', 20011) || repeat(U&'\0301', 50) || repeat(U&'\AC01', 20000), NFD)), md5(normalize(repeat(U&'\1100\1161\11A8', 20011) || repeat(U&'\11A8\0301', 50)))
SELECT normalize(U&'\034F' || repeat(U&'\034F\0301', 40)) = U&'\034F' || repeat(U&'\034F\0301', 40), normalize(U&'a\034F\0301' || repeat(U&'\0301\0323', 40)) IS NORMALIZED, normalize('') = '', normalize(U&'\0301') = U&'\0301'
SELECT md5(string_agg(normalize(chr(i) || repeat(U&'\0301\0323\0308\0304', 9), f), '' ORDER BY i)) FROM generate_series(160, 12000) i, (VALUES ('NFC'), ('NFKC')) v(f) WHERE i NOT BETWEEN 2208 AND 2303 AND i NOT BETWEEN 6832 AND 6911 AND i NOT BETWEEN 3072 AND 3327 AND i NOT BETWEEN 5900 AND 5950 AND i NOT BETWEEN 7600 AND 7679 GROUP BY f
SELECT normalize('a', 'nfx')
SELECT length(normalize('a' || repeat(U&'\0301\0323', 20000)))
