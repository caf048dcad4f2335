-- alone
SELECT convert_from('\x8a', 'win1252'), convert_from('\x85', 'latin2'), convert_to(U&'\0085', 'iso_8859_5'), convert_from('\xae', 'koi8u')
SELECT convert_from('\xca', 'win1255')
SELECT convert_from('\x938c8b9e', 'SJIS'), convert_to('¥‾〜', 'shift_jis'), convert_to('東京', 'gbk'), convert_to('한국', 'uhc')
SELECT convert_from('\x93', 'SJIS')
SELECT convert_from('\x8000', 'gbk')
SELECT convert_from('\x8d20', 'uhc')
SELECT convert_from('\xf040', 'sjis')
SELECT convert_to('€', 'gbk'), convert_from('\xa3a0', 'gbk')
SELECT length('\x938c8b9e', 'sjis'), length('\xbff8'::bytea, 'euc_kr')
SELECT length('\x938c8b', 'sjis')
SELECT convert('\x938c', 'sjis', 'latin1')
SELECT convert('\x938c', 'sjis', 'utf8'), convert('\x938c', 'sjis', 'sjis'), convert('\x938c', 'sql_ascii', 'sjis')
SET client_encoding = 'nope'
SET client_encoding = 'MULE_INTERNAL'
SELECT set_config('client_encoding', 'nope', false)
SET client_encoding TO 'sql_ascii'; SHOW client_encoding; SELECT pg_client_encoding(), getdatabaseencoding()
SET application_name = 'é'; SHOW application_name
