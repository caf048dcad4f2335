-- Ranges of times, zones, and times with time zone.
SELECT interval '1 day' = interval '24 hours', interval '1 mon' = '30 days', interval '1 year' = '360 days'
SELECT interval '2147483647 days' + '1 day'
SELECT interval '9223372036854775807 us' + '1 us'
SELECT -interval '-2147483648 days'
SELECT interval '178956970 years' * 2
SELECT interval '1 day' / 0
SELECT interval '1 mon' * 1.5, interval '1 mon' / 7
SELECT interval '1 day' * 'NaN'::float8
SELECT timestamp '2024-01-31' + interval '1 mon'
SELECT timestamp '294276-12-31' + interval '1 day'
SELECT timestamp '4714-11-24 BC' - interval '1 us'
SELECT date '5874897-12-31' + 1
SELECT date '4714-11-24 BC' - 1
SELECT date '5874897-12-31' + interval '1 day'
SELECT date '5874897-12-31'::timestamp
SELECT date '5874897-12-31'::timestamptz
SELECT timestamp '294276-12-31 23:59:59.9999999'
SELECT timestamp '294276-12-31 23:59:59.5'::timestamp(0), timestamptz '2024-03-31 00:30+00' at time zone 'Europe/Oslo', timestamp '2024-01-01' at time zone 'UTC+5', timestamp '2024-01-01' at time zone '+5', timestamp '2024-01-01' at time zone '-03:30', timestamp '2024-01-01' at time zone 'EST'
SELECT timestamp '2024-07-01' at time zone 'EST5EDT', timestamp '2024-07-01' at time zone 'EST5EDT,M3.2.0,M11.1.0', timestamp '2024-07-01' at time zone 'FOO5BAR', timestamp '2024-07-01' at time zone 'FOO5', timestamp '2024-07-01' at time zone '<+0330>-3:30', timestamp '2024-07-01' at time zone 'msk'
SELECT timestamp '2012-07-01' at time zone 'msk', timestamptz '2012-07-01 00:00+00' at time zone 'msk'
SELECT timestamp '2024-07-01' at time zone 'foo'
SELECT timestamp '2024-07-01' at time zone ''
SELECT timestamp '2024-07-01' at time zone 'europe/OSLO', timestamp '2024-07-01' at time zone '25', timestamp '2024-07-01' at time zone '100'
SELECT timestamp '2024-07-01' at time zone '200'
SELECT timestamp '2024-07-01' at time zone 'UTC+100', timestamp '2024-07-01' at time zone '2:3:4', timestamp '2024-07-01' at time zone interval '2 hours'
SELECT timestamp '2024-07-01' at time zone interval '1 day'
SELECT timetz '10:00+02' at time zone 'UTC', timetz '10:00+02' at time zone interval '-1 hour'
SELECT timetz '10:00+02' at time zone 'foo'
SELECT time '10:00' at time zone 'UTC', timetz '10:00+02' + interval '20 hours', interval '1 hour' + timetz '10:00+02', timetz '10:00+02' - interval '11 hours', date '2024-01-01' + timetz '10:00+02', timetz '10:00+02' + date '2024-01-01'
SELECT timetz '10:00+02' = timetz '08:00+00', timetz '10:00+02' < timetz '08:00+00', timetz '10:00+02' > timetz '08:00+00', timetz '10:00+02'::time, timetz '10:00+02'::text, time '10:00'::timetz
SELECT timestamptz '2024-01-01 10:00+02'::timetz, '10:00:00.123456+02'::timetz(2), timetz(0) '10:00:00.5+02', time with time zone '10:00+02', cast('10:00+02' as time(3) with time zone), max(timetz '10:00+02')
SELECT min(timetz '10:00+02'), array[timetz '10:00+02'], to_json(timetz '10:00+02'), to_jsonb(timetz '10:00:00.5-03:30'), extract(epoch from timetz '10:00+02'), extract(timezone_hour from timetz '10:00-03:30')
SELECT extract(timezone_minute from timetz '10:00-03:30'), date_part('second', timetz '10:00:12.5-03:30'), pg_typeof(current_time), current_time(0) is not null, pg_typeof(localtime)
SELECT timetz '24:00:00+00', timetz '10:00:00+15:59:59', timetz '23:59:60+00', make_date(294277,1,1)
SELECT make_date(5874898,1,1)
SELECT make_date(-4714,11,24)
SELECT make_date(-4715,1,1)
SELECT make_timestamp(294277,1,1,0,0,0)
SELECT make_timestamp(-4714,11,23,0,0,0)
SELECT make_timestamptz(2024,1,1,0,0,0,'UTC+5'), make_timestamptz(2024,1,1,0,0,0,'+5')
SELECT make_timestamptz(2024,1,1,0,0,0,'foo')
SELECT make_interval(secs=>1e12)
SELECT to_timestamp(1e15)
SELECT to_timestamp(-1e15)
SELECT to_timestamp(9224318015999), to_timestamp(1.5), to_timestamp(0), extract(epoch from timestamp '294276-12-31'), extract(epoch from timestamp '4714-11-24 BC'), extract(julian from date '4714-11-24 BC')
SELECT extract(epoch from date '5874897-12-31'), date_part('epoch', timestamp '2024-01-01 00:00:00.123456'), extract(epoch from timestamptz '1969-12-31 23:59:59.5+00'), date_trunc('century', date '0001-01-01' - 1), age(timestamp '2024-03-31', timestamp '2024-02-29'), age(timestamp '0001-01-01 BC')
SELECT timestamp '2024-01-02' - timestamp '2023-01-01 10:00', to_char(timestamptz '2024-01-01 00:00+00','TZ tz OF TZH TZM'), to_char(timestamptz '2024-01-01 00:00+00' at time zone 'UTC','TZ OF'), to_char(timestamp '4714-11-24 BC', 'YYYY-MM-DD BC J'), to_char(timestamp '294276-12-31', 'YYYY-MM-DD J'), timestamp '2024-01-01 10:00:00.5'::timestamp(0)
SELECT timestamp '1999-01-01 10:00:00.5'::timestamp(0), timestamp '1999-01-01 10:00:00.0005'::timestamp(3), date '2024-01-01' - date '2023-01-01', date 'infinity' - 1
SELECT date '2024-01-01' + 2147483647
SELECT date '2024-01-01' - 2147483647
SELECT timestamptz 'infinity' - interval '1 day'
SELECT timestamp 'infinity' - timestamp 'infinity'
SELECT date_bin('1 day', timestamp '294276-12-31', timestamp '4714-11-24 BC')
SELECT generate_series(timestamp '2024-01-30', '2024-04-30', '1 month'), isfinite(interval '1 day'), date '2024-01-01' = timestamp '2024-01-01', date '2024-01-01' < timestamptz '2024-01-01 10:00', justify_interval('1 mon -1 hour'), timestamp '2024-01-01'::date
SELECT pg_typeof(timeofday())
-- The time zone of the session.
set timezone='UTC'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='-03:30'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='+03:30'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='3'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='-3.5'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='UTC+5'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='FOO5BAR'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='europe/oslo'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='utc'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='gmt'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='msk'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='Asia/Kolkata'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='<+0330>-03:30'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='EST5EDT'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='UTC+100'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='foo'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='EST'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='PST8PDT,M3.2.0,M11.1.0'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='Etc/GMT+3'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='zulu'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='Z'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='us/eastern'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='200'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='1e1'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone=''
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set timezone='local'
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
show timezone
select timestamptz '2024-01-01 00:00+00', to_char(timestamptz '2024-01-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-01-01 10:00', extract(timezone from timestamptz '2024-01-01 00:00+00')
select timestamptz '2024-07-01 00:00+00', to_char(timestamptz '2024-07-01 00:00+00','TZ|tz|OF|TZH|TZM'), timestamptz '2024-07-01 10:00', extract(timezone from timestamptz '2024-07-01 00:00+00')
set time zone 3
show timezone
select to_char(now(),'TZ OF')
set time zone interval '-03:30' hour to minute
show timezone
select to_char(now(),'TZ OF'), to_char(timestamptz '2024-01-01 00:00+00','TZ OF TZH:TZM')
SET timezone = 'America/New_York'
SET datestyle = 'ISO, DMY'
SELECT date '1/8/1999', timestamptz '2024-07-01 10:00', timestamptz '2024-03-10 02:30', timestamptz '2024-11-03 01:30', time '10:00'::timetz IS NULL, timestamptz '2024-07-01 10:00'::timetz, to_char(timestamptz '2024-07-01 10:00', 'TZ OF')
SET datestyle = 'ISO, YMD'
SELECT date '99-01-08', date '08-Jan-99', timestamptz '2024-01-01 10:00 MSK'
SELECT date '1/8/99'
RESET timezone
RESET datestyle
SELECT length(timeofday()), pg_typeof(timeofday())
-- The zone of a session has whole minutes.
SET timezone='-00:44:30'
SHOW timezone
SET timezone='<x>+00:00:30'
SET timezone='-00:44'
SHOW timezone
SELECT '2020-01-01 00:00:00+00'::timestamptz, '2020-01-01 00:00:00+00'::timestamptz AT TIME ZONE '-00:44:30'
SET timezone='Africa/Monrovia'
SET timezone='UTC'
