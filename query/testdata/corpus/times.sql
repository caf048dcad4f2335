-- Functions that make dates and times.
SELECT make_date(2024, 2, 29), make_date(-44, 3, 15), make_time(12, 34, 56.789), make_timestamp(2024, 2, 29, 23, 59, 59.5), make_timestamptz(2024, 2, 29, 12, 0, 0), make_timestamptz(2024, 7, 1, 12, 0, 0, 'Europe/Oslo'), make_time(24, 0, 0)
SELECT make_date(2023, 2, 29)
SELECT make_date(0, 1, 1)
SELECT make_date(2024, 13, 1)
SELECT make_time(25, 0, 0)
SELECT make_timestamp(2024, 1, 1, 12, 60, 0)
SELECT make_interval(), make_interval(1, 2, 3, 4, 5, 6, 7.5), make_interval(days => 10), make_interval(hours => 2, mins => 30), make_interval(1, weeks => 2), make_interval(secs => 0.001), make_interval(years => -1)
SELECT make_interval(days => 10, days => 2)
SELECT justify_hours('27 hours'), justify_days('35 days'), justify_interval('1 mon -1 hour'), justify_hours('-27 hours 1 day'), justify_days('-35 days 1 mon'), justify_interval('90 days 50 hours'), justify_interval('1 year -366 days')
SELECT date_bin('15 minutes', timestamp '2024-02-11 15:44:17', timestamp '2001-01-01'), date_bin('1 day', timestamptz '2024-02-11 15:44:17+00', timestamptz '2001-01-01 03:00+00'), date_bin('2 hours', timestamp '2000-02-11 15:44:17', timestamp '2001-01-01'), date_bin('7 days', timestamp '2024-01-01', timestamp '2024-01-01')
SELECT date_bin('1 month', timestamp '2024-02-11', timestamp '2001-01-01')
SELECT date_bin('0', timestamp '2024-02-11', timestamp '2001-01-01')
SELECT date_bin('-1 day', timestamp '2024-02-11', timestamp '2001-01-01')
SELECT generate_series(timestamp '2024-01-31', '2024-05-01', '1 month')
SELECT generate_series(timestamptz '2024-03-30 12:00+00', '2024-04-01 12:00+00', '1 day')
SELECT g FROM generate_series(timestamp '2024-01-02', '2024-01-01', '-6 hours') g
SELECT g::date FROM generate_series(date '2024-01-01', date '2024-01-03', interval '1 day') g
SELECT generate_series(timestamp '2024-01-01', '2024-01-02', '0 days')
SELECT count(*) FROM generate_series(timestamp '2024-01-01', '2024-01-01', '1 day')
SELECT date_trunc('hour', interval '3 days 04:05:06.789'), date_trunc('month', interval '1 year 5 mons 3 days'), date_trunc('decade', interval '25 years'), date_trunc('day', timestamptz '2024-02-11 23:30+00', 'Europe/Oslo')
SELECT date_trunc('week', interval '1 day')
SELECT date_trunc('foo', interval '1 day')
SELECT date_trunc('day', '2024-01-01')
SELECT to_char('2020-01-02', 'YYYY')
SELECT to_char(date '2020-01-02', 'YYYY')
-- The type time.
SELECT time '12:34:56', time '12:34', '12:34:56.789012'::time, time '123456', time '1:2:3', time '04:05 PM', time '12:00 am', time '24:00', '2024-01-01 10:11:12'::time, time 'allballs', time '10:00+02'
SELECT time '25:00'
SELECT time '12:60'
SELECT time 'noon'
SELECT ''::time
SELECT time '12:00' + interval '90 minutes', time '23:00' + interval '2 hours', time '01:00' - interval '2 hours', interval '1 hour' + time '01:00', time '12:00' - time '10:30', date '2024-01-01' + time '12:30', time '12:30' + date '2024-01-01', 7 + date '2024-01-01'
SELECT time '12:00' < time '13:00', time '12:00' = '12:00', max(t), min(t) FROM (VALUES (time '12:00'), ('10:00')) v(t) GROUP BY 1
SELECT timestamp '2024-01-01 10:11:12.5'::time, timestamptz '2024-01-01 10:11:12+00'::time, interval '26 hours'::time, time '10:00'::interval, time '10:00'::text, '10:00'::text::time, time '12:34:56.789'::time(1), time(0) '12:34:56.5'
SELECT extract(hour FROM time '12:34:56.5'), extract(minute FROM time '12:34:56.5'), extract(second FROM time '12:34:56.5'), extract(epoch FROM time '12:34:56.5'), date_part('microseconds', time '12:34:56.5')
SELECT extract(day FROM time '12:34')
SELECT extract(foo FROM time '12:34')
SELECT to_char(time '12:34:56', 'HH24:MI'), to_json(time '12:34'), pg_typeof(time '12:34'), ARRAY[time '12:34'], '{12:34,01:02}'::time[]
SELECT t FROM (VALUES (time '12:00'), ('10:00')) v(t) ORDER BY t DESC
SELECT time '12:00' * 2
-- Reading texts by a format.
SELECT to_date('2024-02-29', 'YYYY-MM-DD'), to_date('29 Feb 2024', 'DD Mon YYYY'), to_date('20240229', 'YYYYMMDD'), to_date('February 29, 2024', 'Month DD, YYYY'), to_date('2024-060', 'YYYY-DDD'), to_date('2024-09-4', 'IYYY-IW-ID'), to_date('24-02-29', 'YY-MM-DD'), to_date('95-02-28', 'YY-MM-DD'), to_date('2024', 'YYYY'), to_date('44-03-15 BC', 'YYYY-MM-DD BC')
SELECT to_timestamp('2024-02-29 12:34:56', 'YYYY-MM-DD HH24:MI:SS'), to_timestamp('2024-02-29 12:34:56.789', 'YYYY-MM-DD HH24:MI:SS.MS'), to_timestamp('02/29/2024 01:05 PM', 'MM/DD/YYYY HH12:MI AM'), to_timestamp('20240229T123456', 'YYYYMMDD"T"HH24MISS'), to_timestamp('2024-02-29 12:00 +02', 'YYYY-MM-DD HH24:MI TZH'), to_timestamp('2024-02-29 12:00+05:30', 'YYYY-MM-DD HH24:MITZH:TZM'), to_timestamp('12:34:56.123456', 'HH24:MI:SS.US'), to_timestamp('2024 45296', 'YYYY SSSS')
SELECT to_date('2024/02/29', 'YYYY-MM-DD'), to_date('  2024  02  29', 'YYYY MM DD'), to_date('2024-2-9', 'YYYY-MM-DD'), to_date('2024-02-29abc', 'YYYY-MM-DD'), to_date('1st Jan 2024', 'DDth Mon YYYY'), to_date('IV 2024', 'RM YYYY'), to_date('Thursday 2024-02-29', 'Day YYYY-MM-DD'), to_date('2460370', 'J'), to_date('2024-W09', 'IYYY-"W"IW'), to_date('', 'YYYY'), to_date('2024-02', 'YYYY-MM-DD'), to_date('2,024-01', 'Y,YYY-MM')
SELECT to_date('2024-02-30', 'YYYY-MM-DD')
SELECT to_date('2024-13-01', 'YYYY-MM-DD')
SELECT to_date('abcd-01-01', 'YYYY-MM-DD')
SELECT to_date('2024-Foo-01', 'YYYY-Mon-DD')
SELECT to_timestamp('2024-01-01 13:00', 'YYYY-MM-DD HH12:MI')
SELECT to_timestamp('2024-01-01 25:00', 'YYYY-MM-DD HH24:MI')
SELECT to_timestamp('2024-01-01 12:00 CET', 'YYYY-MM-DD HH24:MI TZ')
SELECT to_date('2024 2025', 'YYYY YYYY')
SELECT to_date('2024-01 09', 'YYYY-MM IW')
SELECT to_date('2024-01-01', NULL), to_date(NULL, 'YYYY')
SELECT to_timestamp(0), to_timestamp(1709208896.5), to_timestamp('1709208896')
SELECT age(timestamp '2024-03-01', timestamp '2024-01-31'), age(timestamptz '2024-03-01', timestamptz '2000-02-29')
SELECT interval '1 day' * 1.5, interval '1 month' / 2, interval '1 hour' / 3, 2.5 * interval '1 week', interval '1 year' * 0.33
-- fields by all their names
SELECT extract(julian from date '2024-12-30'), extract(millennium from date '2024-12-30'), extract(qtr from now()) > 0
SELECT extract(julian from timestamp '2024-12-30 12:00'), date_part('julian', timestamp '2024-12-30 06:00')
SELECT date_part('hour', date '2024-01-01'), date_part('mon', date '2024-01-01'), extract(msec from time '00:00:01.5')
SELECT extract(year from date '0044-03-15 BC'), extract(century from date '0044-03-15 BC')
SELECT extract(decade from date '0044-03-15 BC'), extract(millennium from date '0044-03-15 BC')
SELECT extract(timezone_hour from timestamptz '2024-01-01'), extract(timezone_minute from timestamptz '2024-01-01')
SELECT extract(quarter from interval '14 months'), extract(decade from interval '25 years')
SELECT date_trunc('mon', timestamp '2024-03-31 10:00'), date_trunc('decade', timestamp '2024-02-29')
SELECT date_trunc('c', timestamp '2024-02-29'), date_trunc('millennium', timestamp '2024-02-29')
SELECT date_trunc('century', timestamp '0044-03-15 BC'), date_trunc('decade', timestamp '0044-03-15 BC')
SELECT extract(hour from date '2024-01-01')
SELECT extract(fortnight from date '2024-01-01')
SELECT extract(dow from interval '1 day')
SELECT date_trunc('fortnight', timestamp '2024-01-01')
-- intervals in the form of standard SQL
SELECT interval '1-2', interval '-1-2', interval '1-2 3 4:05:06', interval '1 2:03:04', interval '3 4:05'
SELECT interval '1-12'
SELECT interval '1 2'
SELECT interval '2 centuries', interval '1 millennium', interval '5 decs'
-- dates in forms other than ISO 8601, and abbreviations of zones
SELECT date '01/02/2024', date 'January 8, 1999', date '1999-Jan-08', date '20240101', date '8 Jan 1999'
SELECT date 'Jan-08-1999', date '08-Jan-1999', date 'Feb 3 2020', timestamp '01/02/2024 10:20'
SELECT timestamp 'January 8, 1999 04:05:06', timestamptz '1/8/1999 10:00+02'
SELECT date 'Foo 8, 1999'
SELECT timestamptz '2024-07-01 12:00:00 PST', timestamptz '2024-01-01 12:00 CET', timestamp '2024-01-01 12:00 PST'
SELECT timestamp '2024-01-01 12:00' AT TIME ZONE 'PST', timestamptz '2024-01-01 12:00+00' AT TIME ZONE 'CEST'
-- when the clocks are changed
SELECT timestamptz '2024-11-03 01:30 America/New_York', timestamp '2024-11-03 01:30' AT TIME ZONE 'America/New_York'
SELECT timestamp '2024-03-10 02:30' AT TIME ZONE 'America/New_York', timestamptz '2024-03-31 02:30 Europe/Oslo'
SELECT make_timestamptz(2024,11,3,1,30,0,'America/New_York'), timestamptz '2024-10-27 03:00 Europe/Oslo'
SELECT timestamptz '2024-10-27 02:30 Europe/Oslo', timestamptz '2024-10-27 01:59 Europe/Oslo'
SELECT date_trunc('hour', timestamptz '2024-10-27 00:30+00', 'Europe/Oslo')
SELECT date_trunc('day', timestamptz '2024-10-27 12:30+00', 'Europe/Oslo')
SET TIME ZONE 'Europe/Oslo'
SELECT timestamptz '2024-10-27 00:30+00', date_trunc('hour', timestamptz '2024-10-27 00:30+00')
SELECT date_trunc('hour', timestamptz '2024-10-27 01:30+00'), timestamptz '2024-10-26 02:30' + interval '1 day'
SELECT timestamptz '2024-10-27 02:30', timestamp '2024-10-27 02:30'::timestamptz, date '2024-10-27'::timestamptz
SELECT generate_series(timestamptz '2024-10-26 12:00', timestamptz '2024-10-28 12:00', interval '1 day')
SELECT timestamptz '2024-10-27 12:00' - timestamptz '2024-10-26 12:00'
SELECT extract(epoch from timestamptz '2024-10-27 02:30')
SELECT age(timestamptz '2024-10-28', timestamptz '2024-10-26'), date_trunc('week', timestamptz '2024-10-27 12:00')
SELECT timestamptz '2024-01-31 12:00' + interval '1 month', timestamptz '2024-03-30 02:30' + interval '1 day 1 hour'
RESET TIME ZONE
-- OVERLAPS, and zones given as intervals
SELECT (date '2024-01-01', interval '10 days') OVERLAPS (date '2024-01-05', interval '1 day')
SELECT (date '2024-01-01', date '2024-01-02') OVERLAPS (date '2024-01-02', date '2024-01-03')
SELECT (time '10:00', time '12:00') OVERLAPS (time '11:00', time '13:00')
SELECT (timestamptz '2024-01-01', timestamptz '2024-01-03') OVERLAPS (timestamptz '2024-01-02', interval '1 day')
SELECT (null::date, date '2024-01-02') OVERLAPS (date '2024-01-01', date '2024-01-03')
SELECT (timestamp '2024-01-01', null) OVERLAPS (timestamp '2024-01-01', timestamp '2024-01-02')
SELECT (date '2024-01-05', date '2024-01-01') OVERLAPS (date '2024-01-02', date '2024-01-02')
SELECT timestamptz '2024-01-01' AT TIME ZONE interval '2 hours', timestamp '2024-01-01' AT TIME ZONE interval '-02:30'
SELECT timestamptz '2024-01-01' AT TIME ZONE interval '1 month'
SELECT date '2024-01-01' + '1'
SET datestyle = 'ISO, DMY'
SHOW datestyle
SELECT '01/02/2024'::date, timestamp '13/02/2024 10:00', date 'January 8, 1999', date '2024-03-04'
RESET datestyle
-- Forms of ISO 8601 without separators.
SELECT timestamp '20240101T101112', timestamp '20240101T101112.5', timestamptz '20240101T101112Z', timestamptz '20240101T101112+02', timestamp '20240101 1011', date '20240101', timestamp '20240101T1011'
SELECT timestamp '20241301T101112'
SELECT '20240229T235959'::timestamp, '20230229T000000'::timestamp
-- forms of dates, times and intervals, their fields and digits, and their errors; char(n)
SELECT 'a'::char(3) in ('a','b')
SELECT 'a'::char(3) = 'a  '::char(5), 'a '::char(3) < 'b', 'a'::char(3) <> 'a', 'a'::char(3) between 'a' and 'a', 'a'::char(3) = any(array['a'])
SELECT 'ab'::char(1), 'ab'::varchar(1), cast('abc' as char), cast('abc' as varchar(2)), length('ab '::char(5)), octet_length('ab'::char(5)), 'ab'::char(5)||'x'
SELECT 'a'::char(3) like 'a', 'a'::char(3) like 'a  ', 'a'::char(3) ~ 'a$', 'a'::char(3) similar to 'a'
SELECT count(*) from (values ('a'::char(3))) v(x) join (values ('a')) w(y) on x=y
SELECT 'a'::char(0)
SELECT 'a'::varchar(0)
SELECT 'abc'::char(3)::char(2), 'abc'::varchar(10)::char(5)||'|', 'é'::char(2)
SELECT interval '1.6 s'::interval(0), interval(0) '1.6 s', '1.6 sec'::interval(0), interval(3) '1.23456 s', '1.5'::interval(0), cast('1.26 s' as interval(1)), '-1.5 s'::interval(0)
SELECT interval '5' day, interval '3' month, interval '1 2' day to hour, interval '1:30' minute to second, interval '1-2' year to month, interval '1 2:03:04.567' day to second(1), interval '100' second(2), interval '1' year
SELECT '1 day 1.999 s'::interval second(1), '1 year 2 mon 3 day 04:05:06.789'::interval year, '1 year 2 mon 3 day 04:05:06.789'::interval month, '1 year 2 mon 3 day 04:05:06.789'::interval day, '1 year 2 mon 3 day 04:05:06.789'::interval hour, '1 year 2 mon 3 day 04:05:06.789'::interval minute, '1 year 2 mon 3 day 04:05:06.789'::interval second, '1 year 2 mon 3 day 04:05:06.789'::interval day to minute, '1 year 2 mon 3 day 04:05:06.789'::interval hour to second(0), '1 year 2 mon 3 day 04:05:06.789'::interval year to month
SELECT interval '1' hour to minute, interval '1:2' hour to minute, interval '1:2' day to minute, interval '1 2:3' day to minute, interval '5' minute, interval '5.5' minute, interval '1.5' day, interval '2' hour, interval '10' hour to second, interval '1:2:3' minute, interval '1 day' hour
SELECT interval 'infinity'
SELECT interval 'foo'
SELECT interval '1 foo'
SELECT interval ''
SELECT interval '1:2:3:4'
SELECT date '2024-02-30'
SELECT date '2024-13-01'
SELECT date 'foo'
SELECT date ''
SELECT date '13/13/2024'
SELECT date '4714-11-23 BC'
SELECT date '2024-01'
SELECT date 'today' - current_date, date 'tomorrow' - current_date, date 'epoch', date 'infinity', date '-infinity'
SELECT timestamp '2024-01-05 04:05:06.789 PM', timestamp '20240105T040506', timestamp 'Fri Jan 05 04:05:06 2024', timestamp '2024-01-05 24:00:00', timestamp '2024-01-05 23:59:60', timestamp '2024-01-05T04:05', timestamp '2024-01-05 04', timestamp 'Jan 5 2024 4:05 am', timestamp '2024-01-05 4:05:06', timestamp '2024-01-05 040506', timestamp '2024-01-05 04:05:06.123456789', timestamp '2024-01-05 12:00 AM', timestamp 'Jan 5 04:05:06 2024 PST', timestamp '2024-01-05 04:05:06 America/New_York'
SELECT timestamp '2024-01-05 25:00'
SELECT timestamp '2024-01-05 04:60'
SELECT timestamp '2024-01-05 13:00 PM'
SELECT timestamp '294277-01-01'
SELECT time '04:05:06.789', time '040506', time '4:05 PM', time(2) '04:05:06.789', time '24:00', time '23:59:60', time '0405', time '04:05:06 PST', time 'allballs', time '12:00 am', time '12:30 pm', '04:05'::time + '1 h', time '2024-01-05 04:05:06'
SELECT time '25:00'
SELECT time '04:60'
SELECT time 'foo'
SELECT time '04:05:06.9999999'
SELECT timestamp(0) '2024-01-05 04:05:06.789', timestamp(2) '2024-01-05 04:05:06.785', '2024-01-05 04:05:06.789'::timestamptz(1), '23:59:59.9'::time(0), timestamp(3) '2024-01-05 04:05:06.7895', cast(timestamp '2024-01-05 04:05:06.789' as timestamp(0)), now()::timestamp(0) = localtimestamp(0)
SELECT timestamptz '2024-01-01' at time zone 'Nowhere'
SELECT extract(epoch from date '2024-01-01'), extract(epoch from timestamp '2024-01-01'), extract(epoch from timestamptz '2024-01-01'), extract(epoch from interval '1 day'), extract(epoch from time '01:00'), extract(century from date '2000-12-31'), extract(julian from date '2024-01-01'), extract(julian from timestamp '2024-01-01 12:00'), extract(isoyear from date '2024-12-31'), extract(dow from date '2024-01-07'), extract(isodow from date '2024-01-07'), extract(milliseconds from time '01:02:03.5'), extract(microseconds from interval '1.5 s'), extract(year from interval '14 months'), extract(quarter from interval '5 months'), date_part('epoch',date '2024-01-01')
SELECT extract(hour from date '2024-01-01')
SELECT extract(foo from date '2024-01-01')
SELECT extract(day from time '01:00')
SELECT extract(timezone from timestamptz '2024-01-01'), extract(timezone_hour from timestamptz '2024-01-01')
SELECT date_trunc('week',timestamp '2024-01-05'), date_trunc('quarter',timestamp '2024-05-05'), date_trunc('decade',timestamp '2024-05-05'), date_trunc('century',timestamp '2024-05-05'), date_trunc('milliseconds',timestamp '2024-05-05 01:02:03.456789'), date_trunc('hour',interval '1 day 2:03:04'), date_trunc('month',interval '14 months 5 days'), date_trunc('day',timestamptz '2024-01-01 20:00+00','Asia/Tokyo')
SELECT date_trunc('foo',timestamp '2024-01-05')
SELECT date_trunc('week',interval '1 day')
SELECT to_timestamp('Infinity'::float8), to_timestamp(0), to_timestamp(1704067200.5), to_timestamp('-infinity'::float8)
SELECT to_timestamp('nan'::float8)
SELECT to_timestamp(1e20)
SELECT to_date('2024-036','YYYY-DDD'), to_date('20240105','YYYYMMDD'), to_timestamp('2024-02-29 13:05:09.5','YYYY-MM-DD HH24:MI:SS.MS'), to_timestamp('1:05 PM','HH12:MI PM'), to_timestamp('2024-01-01 05+02','YYYY-MM-DD HH24TZH')
SELECT age(timestamp '2024-03-01', timestamp '2023-01-31'), age(timestamp '2023-01-31', timestamp '2024-03-01'), age(date '2024-01-01', date '2023-01-01'), justify_hours(interval '30 hours'), justify_days(interval '40 days'), justify_interval(interval '1 mon -1 hour')
SELECT date '2024-01-31' + interval '1 month', date '2024-01-01' + 5, date '2024-01-01' + time '05:00', time '05:00' + date '2024-01-01', date '2024-01-05' - date '2024-01-01', timestamp '2024-01-05' - timestamp '2024-01-01 05:00', time '05:00' - time '03:00', time '23:00' + interval '2 hours', interval '1 hour' * 1.5, interval '1 day' / 3, 5 * interval '1 hour', interval '1 month' * 0.5, interval '1 day' - interval '1 hour', - interval '1 day', 1 + date '2024-01-01'
SELECT isfinite(date 'infinity'), isfinite(timestamp '2024-01-01'), isfinite(interval '1 day')
SELECT (date '2024-01-01', date '2024-02-01') overlaps (date '2024-01-15', date '2024-03-01'), (timestamp '2024-01-01', interval '1 day') overlaps (timestamp '2024-01-01 12:00', interval '1 day')
SELECT interval '1 day' = interval '24 hours', interval '1 month' = interval '30 days', interval '1 day' < interval '25 hours', date '2024-01-01' < timestamp '2024-01-01 00:00:01', date '2024-01-01' = timestamptz '2024-01-01'
SELECT to_char(timestamp '2024-01-05 13:14:15.678','YYYY-MM-DD HH24:MI:SS.MS US'), to_char(interval '1 day 2:03:04','DD HH24:MI:SS'), to_char(timestamptz '2024-07-01 00:00+00','TZ OF tz TZH TZM'), to_char(date '2024-01-05','FMDay, FMDDth FMMonth YYYY'), to_char(date '2024-01-05','IYYY-IW-ID J Q WW W CC')
-- The interval may come first.
SELECT interval '1 day' + timestamp '2024-01-01', interval '1 day' + date '2024-01-01', interval '1 day' + timestamptz '2024-01-01', interval '1 day' + '2024-01-01'::timestamp::date, interval '1 day' + time '10:00'
SELECT interval '1 day' + '2 days', '1 day' + interval '2 days'
-- Too many digits of seconds.
SELECT '2020-01-01 12:00'::timestamp(9), '12:00:00.1234567'::time(8), '1 s'::interval(7), '12:00'::timetz(10)
SELECT '2020-01-01'::timestamp(-1)
-- More of the same, together.
SELECT date '2020-03-31' - interval '1 month', timestamp '2020-02-29' + interval '1 year', timestamptz '2020-03-29 00:30+00' + interval '1 day', date '2020-01-01' + interval '1 day 1 hour', interval '1 month 15 days' * 0.5, interval '1 year' / 7, interval '10 days' - interval '36 hours', interval '1 day' > interval '23 hours', -interval '1-2', interval '90 minutes' + time '23:00'
SELECT age('2020-01-01'::timestamp), age(date '2020-05-01', date '2019-02-28') IS NOT NULL, justify_interval(interval '400 days 30 hours'), date_trunc('decade', timestamp '2019-05-05'), date_trunc('minute', timestamptz '2020-01-01 12:34:56+00'), extract(isoyear FROM date '2018-12-31'), extract(epoch FROM interval '1 year'), extract(day FROM interval '40 days 30:00'), date_part('second', time '12:00:01.5')
SELECT greatest(date '2020-01-01', timestamp '2020-01-01 12:00'), least('2020-01-01'::date, NULL), CASE WHEN true THEN date '2020-01-01' ELSE timestamp '2020-01-01 12:00' END, coalesce(NULL, date '2020-01-01'), ARRAY[date '2020-01-01', timestamp '2020-01-02']
