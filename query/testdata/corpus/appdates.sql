-- Dates, times and templates, with their errors.
-- alone
SELECT now() = current_timestamp, transaction_timestamp() = now(), statement_timestamp() >= now(), current_date = now()::date
SELECT extract(epoch FROM timestamp '2024-05-06 07:08:09.123456'), extract(dow FROM date '2024-05-05'), extract(isodow FROM date '2024-05-05'), extract(week FROM date '2024-12-30'), extract(isoyear FROM date '2024-12-30')
SELECT extract(century FROM date '2000-12-31'), extract(decade FROM date '1999-01-01'), extract(millennium FROM date '2001-01-01'), extract(julian FROM date '2024-01-01'), extract(quarter FROM date '2024-07-01')
SELECT extract(microseconds FROM time '10:11:12.5'), extract(milliseconds FROM interval '1.5 sec'), extract(epoch FROM interval '1 month 1 day'), extract(day FROM interval '40 days 25 hours')
SELECT extract(timezone FROM timestamptz '2024-01-01 00:00+03'), extract(timezone_hour FROM timestamptz '2024-01-01'), extract(hour FROM timetz '10:00+05:30'), extract(timezone_minute FROM timetz '10:00+05:30')
SELECT extract(foo FROM date '2024-01-01')
SELECT extract(hour FROM date '2024-01-01')
SELECT extract(epoch FROM time '10:00')
SELECT extract(year FROM time '10:00')
SELECT extract(day FROM 'x')
SELECT extract(year FROM '2024-01-01')
SELECT extract(year FROM 5)
SELECT date_part('year', '2024-01-01'::text)
SELECT date_part('foo', now())
SELECT date_part('epoch', timestamp 'infinity'), extract(year FROM timestamp '-infinity'), extract(month FROM date 'infinity')
SELECT date_trunc('week', timestamp '2024-05-09 10:00'), date_trunc('quarter', date '2024-05-09'), date_trunc('century', timestamp '2024-05-09'), date_trunc('milliseconds', timestamp '2024-01-01 00:00:00.123456'), date_trunc('hour', interval '1 day 10:30')
SELECT date_trunc('day', timestamptz '2024-05-09 23:30:00+00', 'America/New_York')
SELECT date_trunc('fortnight', now())
SELECT date_trunc('week', interval '1 month')
SELECT date_bin('15 minutes', timestamp '2024-05-09 10:37:00', timestamp '2024-01-01'), date_bin('1 day', timestamptz '2024-05-09 10:37:00+02', timestamptz '2001-01-01')
SELECT date_bin('1 month', timestamp '2024-05-09', timestamp '2024-01-01')
SELECT date_bin('0 s', timestamp '2024-05-09', timestamp '2024-01-01')
SELECT date_bin('-1 s', timestamp '2024-05-09', timestamp '2024-01-01')
SELECT age(timestamp '2024-05-09', timestamp '2023-07-31'), age(date '2024-03-01', date '2024-02-29'), age(timestamptz '2020-01-01', timestamptz '2024-02-29 01:02:03')
SELECT justify_hours(interval '50 hours'), justify_days(interval '65 days'), justify_interval(interval '1 month -1 hour')
SELECT make_date(2024, 2, 29), make_time(10, 11, 12.5), make_timestamp(2024,1,2,3,4,5.5), make_timestamptz(2024,1,2,3,4,5,'Europe/Oslo'), make_interval(days => 3, hours => 4), make_interval(1,2,3,4,5,6,7.5)
SELECT make_date(2023, 2, 29)
SELECT make_time(24, 1, 0)
SELECT make_timestamp(2024,13,2,3,4,5)
SELECT make_timestamptz(2024,1,2,3,4,5,'Nowhere/Here')
SELECT make_date(-44, 3, 15), make_date(0,1,1)
SELECT to_timestamp(1700000000), to_timestamp(1700000000.5), to_timestamp('NaN')
SELECT to_timestamp('infinity'), to_timestamp(-1)
SELECT to_timestamp('2024-05-06 07:08:09', 'YYYY-MM-DD HH24:MI:SS'), to_timestamp('06 May 2024 07 PM', 'DD Mon YYYY HH AM'), to_timestamp('2024-127', 'YYYY-DDD'), to_timestamp('20240506', 'YYYYMMDD')
SELECT to_date('06/05/2024', 'DD/MM/YYYY'), to_date('May 6, 2024', 'Month DD, YYYY'), to_date('24-5-6', 'YY-MM-DD'), to_date('2024-W19-1', 'IYYY-"W"IW-ID'), to_date('Monday 5', 'Day DD')
SELECT to_date('2024-02-30', 'YYYY-MM-DD')
SELECT to_date('abc', 'YYYY')
SELECT to_timestamp('2024-05-06 25:00', 'YYYY-MM-DD HH24:MI')
SELECT to_timestamp('13 PM', 'HH AM')
SELECT to_date('2024-13-01', 'YYYY-MM-DD')
SELECT to_date('20240506', 'YYYYMMDDJ')
SELECT to_date('2024 06', 'YYYY IW')
SELECT to_timestamp('2024-05-06T07:08:09.123Z', 'YYYY-MM-DD"T"HH24:MI:SS.MS'), to_timestamp('1.5', 'SS.US'), to_timestamp('2024-05-06 +02', 'YYYY-MM-DD TZH'), to_timestamp('2024-05-06 02:30', 'YYYY-MM-DD TZH:TZM')
SELECT to_char(timestamp '2024-05-06 17:08:09.123456', 'Day, DD Month YYYY HH12:MI:SS.MS PM'), to_char(timestamp '2024-05-06 17:08:09.123456', 'FMDay, FMDD FMMonth YYYY, Q, WW, IW, DDD, J, CC')
SELECT to_char(timestamp '2024-05-06 17:08:09', 'YYYY-MM-DD"T"HH24:MI:SS'), to_char(timestamptz '2024-05-06 17:08:09+00', 'TZ tz TZH:TZM OF'), to_char(timestamp '2024-05-06', 'Dth DDth, RM rm, BC ad B.C. a.m.'), to_char(timestamp '2024-05-06 17:08:09', 'SSSS SSSSS FF1 FF3 FF6')
SELECT to_char(interval '15 days 26:03:04.5', 'DD HH24:MI:SS.MS'), to_char(interval '-1 year -2 months', 'YYYY MM'), to_char(interval '3 days', 'FMDDD "days"')
SELECT to_char(date '0044-03-15 BC', 'YYYY BC'), to_char(date 'infinity', 'YYYY'), to_char(timestamp '2024-01-01', ''), to_char(timestamp '2024-01-01', 'DY Dy dy DAY day MON Mon mon')
SELECT to_char(timestamp '2024-05-06 17:08:09', 'YYYY,YYY YYY YY Y IYYY IYY IY I ID D'), to_char(timestamp '2024-05-06 17:08:09', 'TMDay TMMonth'), to_char(timestamp '2024-05-06 00:00:00', 'HH HH12 HH24')
SELECT to_char(time '10:11:12', 'HH24:MI:SS')
SELECT to_char(12345.678, '99,999.99'), to_char(-12345.678, '99G999D99S'), to_char(12, '0000'), to_char(0.5, '9.99'), to_char(0.5, '0.99'), to_char(123, '9.99EEEE')
SELECT to_char(12, 'TH'), to_char(12, '99TH'), to_char(1, '9th'), to_char(22, '99th'), to_char(-1, '9th'), to_char(113, '999TH'), to_char(1.5, '9.9th')
SELECT to_char(1234, 'L9,999'), to_char(-5, '9PR'), to_char(5, 'SG9'), to_char(-5, 'MI9'), to_char(5, 'PL9'), to_char(485, 'RN'), to_char(485, 'FMRN'), to_char(4000, 'RN')
SELECT to_char(12.45, '99V9'), to_char(1.25, '9V99'), to_char(123456, '999'), to_char(1e10, '9EEEE'), to_char('NaN'::numeric, '999'), to_char('infinity'::float8, '99.9'), to_char(0, 'FM9'), to_char(0, 'FM0.00')
SELECT to_char(1234567.891, 'FM9,999,999.99'), to_char(1234567.891::float4, '9999999.999'), to_char(100::bigint, 'FM999'), to_char(-0.1, '9.9'), to_char(1, '"a"9"b"'), to_char(12, '9 9')
SELECT to_char(5, '9MI'), to_char(5, '9S'), to_char(-5, '9SG'), to_char(5, 'B9'), to_char(0, 'B9'), to_char(1, 'foo9bar')
SELECT to_char(5, '9.9.9')
SELECT to_char(5, '9S9S')
SELECT to_char(5, 'EEEE9')
SELECT to_char(5, '9V.9')
SELECT to_number('1,234.56', '9,999.99'), to_number('-12', 'S99'), to_number('12-', '99MI'), to_number('<12>', '99PR'), to_number('$5', 'L9'), to_number('1 234', '9 999'), to_number('12.5', '99V9'), to_number('0012', '9999')
SELECT to_number('12.3', '99.9V9'), to_number('123', '9V99')
SELECT to_number('1.23', '9V99')
SELECT to_number('12.34', '99V99'), to_number('12.345', '99V9')
SELECT to_number('abc', '999')
SELECT to_number('', '999')
SELECT to_number('12', 'RN')
SELECT to_number('1e5', '9EEEE')
SELECT to_number('12th', '99th'), to_number('12', '9'), to_number('1.5', '9'), to_number('-1', '9')
SELECT timestamp '2024-01-31' + interval '1 month', date '2024-01-31' + 1, date '2024-03-01' - date '2024-02-01', timestamp '2024-01-01' - timestamp '2023-12-25 12:00', date '2024-01-01' + time '10:00', time '10:00' - time '08:30', interval '1 day' * 1.5, interval '1 hour' / 3
SELECT timestamptz '2024-03-31 01:30:00+01' + interval '1 day', timestamptz '2024-01-01' AT TIME ZONE 'Asia/Tokyo', timestamp '2024-01-01' AT TIME ZONE 'America/New_York', time '10:00' AT TIME ZONE 'UTC' IS NULL
SELECT timestamp '2024-01-01' AT TIME ZONE 'Nope'
SELECT timestamp '2024-01-01' AT TIME ZONE interval '3 hours', timestamp '2024-01-01' AT TIME ZONE '-05:30', timezone('UTC', timestamptz '2024-01-01 00:00+05')
SELECT date 'today' = current_date, date 'yesterday' + 1 = current_date, timestamp 'epoch', date '-infinity', 'infinity'::timestamptz, timestamp 'tomorrow' > now()
SELECT date '2024-02-30'
SELECT date '2024-13-01'
SELECT date 'foo'
SELECT timestamp '2024-01-01 25:00'
SELECT timestamp '2024-01-01 10:00 Mars/Base'
SELECT timestamptz '2024-01-01 10:00 EST', timestamptz '2024-01-01T10:00:00.123456789Z', timestamptz 'Jan 5 2024 3pm America/Lima', timestamptz '20240105T101112'
SELECT interval '1 fortnight'
SELECT interval '1 year 2 mons 3 days 04:05:06.789', interval 'P1Y2M3DT4H5M6S', interval '1-2', interval '3 4:05', interval '1.5 months', interval '-1 day +2 hours', interval '2 weeks ago', interval '@ 1 minute'
SELECT interval '1' day, interval '1:30' minute to second, interval '5' year to month, interval '1 day 10:11:12.345' second(1), interval(2) '1.23456 s', interval '10' hour
SELECT interval '999999999999 years'
SELECT date '5874898-01-01'
SELECT timestamp '294277-01-01'
SELECT '10:11:12.345678'::time(2), '2024-01-01 10:11:12.987654'::timestamp(0), '10:11 PM'::time, '25:00'::time
SELECT '24:00'::time, '10:11:12+02'::timetz, '10:11 America/New_York'::timetz IS NULL
SELECT (date '2024-01-01', date '2024-06-01') OVERLAPS (date '2024-05-01', interval '3 months')
SELECT generate_series(date '2024-01-01', date '2024-03-01', interval '1 month')
SELECT d::date FROM generate_series(timestamptz '2024-01-30', '2024-02-02', '1 day') d
SELECT generate_series(timestamp '2024-01-01', timestamp '2024-01-02', interval '0')
SELECT isfinite(date 'infinity'), isfinite(interval '1 day'), isfinite(timestamp '2024-01-01'), clock_timestamp() > now(), timeofday() <> ''
SELECT current_time(2) IS NOT NULL, localtime IS NOT NULL, localtimestamp(0) IS NOT NULL, pg_typeof(current_time), pg_typeof(localtime), pg_typeof(localtimestamp)
SELECT timestamp '2024-01-01' = date '2024-01-01', timestamptz '2024-01-01' > date '2023-12-31', date '2024-01-01' < timestamp '2024-01-01 00:00:01', interval '1 month' = interval '30 days', time '10:00' < '11:00'
SELECT date '2024-01-01' = 5
SELECT date '2024-01-01' + date '2024-01-01'
SELECT now() + 1
SELECT -interval '1 day 2:00', +interval '1 s', interval '1 day' * 'x'
SELECT date '2024-01-01' - interval '1 day', 3 + date '2024-01-01', date '2024-01-10' - 3
SET TIME ZONE 'Europe/Oslo'; SELECT timestamptz '2024-07-01 12:00Z', timestamp '2024-07-01 12:00'::timestamptz, '2024-10-27 02:30'::timestamptz, extract(timezone FROM timestamptz '2024-07-01'), to_char(timestamptz '2024-07-01 12:00Z', 'HH24 TZ OF')
SET timezone = 'Nope/Nope'
SET TIME ZONE INTERVAL '-03:30' HOUR TO MINUTE; SELECT timestamptz '2024-01-01 00:00Z'; SHOW timezone
SET TIME ZONE -5; SHOW TIME ZONE; SELECT timestamptz '2024-01-01 00:00Z'
SET datestyle = 'ISO, DMY'; SELECT date '01/02/2024', '03.04.2024'::timestamp; SHOW datestyle
SET intervalstyle = 'iso_8601'; SELECT interval '1 year 2 days 3:04:05.6', interval '-1 month'; SET intervalstyle = postgres_verbose; SELECT interval '1 year 2 days 3:04:05.6 ago'; SET intervalstyle = sql_standard; SELECT interval '1 year', interval '2 days 3:04:05'
SELECT date '01/02/2024', date 'Jan 2 2024', date '2 January 2024', date '2024.01.02', date '20240102', date '2024-002', date 'J2460312', date '99-01-02'
SELECT date '13/02/2024'
SELECT to_char(now(), 'YYYY') = extract(year FROM now())::text, date_part('hour', timestamp '2024-01-01 10:30') = 10
SELECT (now() - interval '1 hour') < now(), now()::time IS NOT NULL, now()::timestamp(0)::text ~ '^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$'
SELECT '2024-01-01'::date::timestamptz::text, timestamp '2024-01-01 10:00'::date, timestamp '2024-01-01 10:00'::time, timestamptz '2024-01-01 10:00Z'::timetz, interval '25:00'::time
