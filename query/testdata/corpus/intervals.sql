-- Intervals of more than 24 hours.
SELECT interval '27:46:40', interval '100:00', '-27:46:40'::interval, interval '24:00:01'
SELECT interval '1 day 30:00 ago', interval '1:59:60'
SELECT 100000 * interval '1 second'
-- Intervals as text, in every style, and cut to fields.
SELECT interval '1 day'
SELECT interval '1 day 1 day'
SELECT interval '0.1 year', interval '1.5 years', interval '1.5 months', interval '1.5 weeks', interval '1.5 days', interval '0.5 decade', interval 'P0001-02-03T04:05:06', interval 'P00010203T040506', interval 'P1Y2M3DT4H5M6S', interval 'P1Y', interval 'PT1H', interval 'P1W'
SELECT interval 'P1.5D', interval 'PT1.5S', interval 'P1Y2M3W4DT5H6M7.8S'
SELECT interval 'P'
SELECT interval 'PT', interval 'P1', interval 'P1T', interval 'PT1', interval 'P-1Y', interval 'P1Y-2M', interval 'PT-1H30M'
SELECT interval 'P1Y2'
SELECT interval 'P1S'
SELECT interval 'P1YT1Y'
SELECT interval 'p1y'
SELECT interval 'P0001-02', interval 'P0001-13', interval 'P0001T01', interval 'P00010203T'
SELECT interval 'P1-2-3-4'
SELECT interval 'P1e3D', interval 'PT010203.5', interval 'PT01:02', interval 'PT01:02:03.5'
SELECT interval 'PT01:02:03S'
SELECT interval '1-2', interval '-1-2', interval '+1-2'
SELECT interval '1-12'
SELECT interval '1-2 3 4:05:06', interval '-1-2 +3 -4:05:06', interval '-1-2 -3 4:05:06', interval '1 2:03', interval '-1 2:03', interval '1 2:03:04', interval '2:03', interval '2:03.5', interval '2:03:04.5', interval '100:00:00', interval '1000000000:00:00'
SELECT interval '9999999999999:00'
SELECT interval '10:60'
SELECT interval '10:59:60'
SELECT interval '10:59:61'
SELECT interval '1 10:20:30 ago', interval '1 day ago', interval '1 day -1 hour ago'
SELECT interval 'ago'
SELECT interval '1 ago'
SELECT interval '5', interval '5.5', interval '-5', interval '.5'
SELECT interval '-.5'
SELECT interval '5 6'
SELECT interval '5 days 6', interval '1h30m', interval '1h 30'
SELECT interval '3 4 days'
SELECT interval '1 day 2', interval '1 us', interval '1 usec', interval '1.5 us', interval '1.4999 ms', interval '1 millisecond', interval '1 microsecon', interval '1 microsecondfoo'
SELECT interval '1 qtr'
SELECT interval '1 quarter'
SELECT interval '1 c', interval '1 cent', interval '1 mil', interval '1 millennia', interval '1 decs', interval '1 dec', interval '1 y', interval '1 yr', interval '1 yrs', interval '1 mon', interval '1 mons', interval '1 m'
SELECT interval '1 min', interval '1 w', interval '1 week'
SELECT interval '1 foo'
SELECT interval 'foo'
SELECT interval 'infinity'
SELECT interval '@ 1 day', interval '@ 1 year 2 mons -3 days 04:05:06 ago', interval '1 day, 2 hours'
SELECT interval '1year2days'
SELECT interval '+1 day', interval '-1 day', interval '- 1 day', interval '+ 1 day'
SELECT interval '1+2'
SELECT interval '1 day+2 hours'
SELECT interval '1 day -2 hours', interval '1 day - 2 hours', interval '2147483647 days'
SELECT interval '2147483648 days'
SELECT interval '-2147483648 days'
SELECT interval '2147483647 years'
SELECT interval '178956970 years', interval '178956970 years 7 mons'
SELECT interval '178956970 years 8 mons'
SELECT interval '178956971 years'
SELECT interval '9223372036854775807 us'
SELECT interval '9223372036854775808 us'
SELECT interval '9223372036855 s'
SELECT interval '9223372036854 s', interval '2562047788 hours'
SELECT interval '2562047789 hours'
SELECT interval '153722867280 m'
SELECT interval '99999999999999999999 s'
SELECT interval '1e5 s'
SELECT interval '1 day 1 year 1 hour', interval '1 hour 1 day'
SELECT interval '1 hour 2 minutes 1 hour'
SELECT interval '1:00 2:00'
SELECT interval '1 hour 1:00'
SELECT interval '1 second 1 ms'
SELECT interval '1.5 s 1 ms'
SELECT interval '1 s 2 ms 3 us'
SELECT interval '0.5 s 1 us'
SELECT interval '1 week 1 day', interval '1 month 1 year'
SELECT interval '1 year 2 years'
SELECT interval '1 century 1 decade'
SELECT interval ''
SELECT interval '   '
SELECT interval '1 day é'
SELECT interval '0', interval '-0', interval '0 days', interval '1 day 00:00:00', interval '-00:00:01', interval '-1 day +02:03', interval '+1 day -2:3'
SELECT interval '1..5 s'
SELECT interval '1.', interval '1. s'
SELECT interval '1.5.5'
SELECT interval '2024-01-01'
SELECT interval '1-2-3'
SELECT interval '12:', interval ':12'
SELECT interval '1:2:3:4'
SELECT interval '1 2 3'
SELECT interval '1 day 2 3:4'
set intervalstyle=sql_standard
SELECT interval '1 day', interval '1.5 days', interval 'PT1H', interval 'PT', interval 'PT-1H30M', interval 'P0001-13', interval 'PT01:02', interval '-1-2'
SELECT interval '1-12'
SELECT interval '-1-2 +3 -4:05:06', interval '-1-2 -3 4:05:06', interval '-1 2:03', interval '1 2:03:04'
SELECT interval '9999999999999:00'
SELECT interval '1 day -1 hour ago', interval '-5', interval '.5'
SELECT interval '-.5'
SELECT interval '3 4 days'
SELECT interval '1 millisecond', interval '1 cent', interval '1 yr', interval '1 w', interval '@ 1 year 2 mons -3 days 04:05:06 ago', interval '-1 day', interval '- 1 day', interval '+ 1 day'
SELECT interval '2147483648 days'
SELECT interval '-2147483648 days'
SELECT interval '178956971 years'
SELECT interval '2562047789 hours'
SELECT interval '1 hour 2 minutes 1 hour'
SELECT interval '0.5 s 1 us'
SELECT interval '   '
SELECT interval '-0', interval '-00:00:01', interval '-1 day +02:03'
SELECT interval '1.5.5'
SELECT interval '1 2 3'
SELECT -interval '1.5 months', -interval 'P1Y2M3DT4H5M6S', -interval 'P1Y2M3W4DT5H6M7.8S', -interval 'P-1Y'
SELECT -interval 'p1y'
SELECT -interval 'P1e3D', -interval '-1-2', -interval '-1-2 +3 -4:05:06', -interval '-1-2 -3 4:05:06', -interval '1 2:03', -interval '-1 2:03', -interval '100:00:00', -interval '1 10:20:30 ago'
set intervalstyle=postgres
SELECT interval '1' year
SELECT '1 2'::text::interval year
SELECT interval '1:2:3' year, '1 2:3:4.5'::text::interval year
SELECT interval '1.5:2' year
SELECT '2.5 hours'::text::interval year
SELECT interval '1 2' month
SELECT '1:2'::text::interval month, interval '1 2:3:4.5' month
SELECT '-1 2'::text::interval month
SELECT interval '2.5 hours' month, '1.5'::text::interval day, interval '1:2' day, '1 2:3'::text::interval day
SELECT interval '-1 2' day
SELECT '123'::text::interval day, interval '1.5' hour, '1-2'::text::interval hour, interval '1 2:3' hour, '1 day'::text::interval hour, interval '123' hour, '1'::text::interval minute, interval '1-2' minute, '1:2:3'::text::interval minute, interval '1 day' minute
SELECT '1.5:2'::text::interval minute
SELECT interval '1' second
SELECT '1 2'::text::interval second
SELECT interval '1:2:3' second, '1 2:3:4.5'::text::interval second
SELECT interval '1.5:2' second
SELECT '2.5 hours'::text::interval second
SELECT interval '1 2' year to month
SELECT '1:2'::text::interval year to month, interval '1 2:3:4.5' year to month
SELECT '-1 2'::text::interval year to month
SELECT interval '2.5 hours' year to month, '1.5'::text::interval day to hour, interval '1:2' day to hour, '1 2:3'::text::interval day to hour, interval '-1 2' day to hour, '123'::text::interval day to hour, interval '1.5' day to minute, '1-2'::text::interval day to minute, interval '1 2:3' day to minute, '1 day'::text::interval day to minute, interval '123' day to minute, '1'::text::interval day to second
SELECT interval '1-2' day to second, '1:2:3'::text::interval day to second, interval '1 day' day to second
SELECT '1.5:2'::text::interval day to second
SELECT interval '1' hour to minute
SELECT '1 2'::text::interval hour to minute
SELECT interval '1:2:3' hour to minute, '1 2:3:4.5'::text::interval hour to minute
SELECT interval '1.5:2' hour to minute
SELECT '2.5 hours'::text::interval hour to minute
SELECT interval '1 2' hour to second
SELECT '1:2'::text::interval hour to second, interval '1 2:3:4.5' hour to second
SELECT '-1 2'::text::interval hour to second
SELECT interval '2.5 hours' hour to second, '1.5'::text::interval minute to second, interval '1:2' minute to second, '1 2:3'::text::interval minute to second
SELECT interval '-1 2' minute to second
SELECT '123'::text::interval minute to second
-- The ends of the range.
SELECT interval '-9223372036854775808 us', interval '-2147483648 days -9223372036854775808 us', -interval '9223372036854775807 us'
SELECT justify_hours(interval '2147483640 days 240 hours'), justify_hours(interval '-2147483640 days -100 hours')
SELECT justify_hours(interval '-2147483640 days -200 hours')
SELECT justify_days(interval '2147483640 mons 250 days')
SELECT justify_days(interval '-2147483640 mons -240 days'), justify_days(interval '2147483647 mons -1 days')
SELECT justify_interval(interval '2147483600 days 1900 hours'), justify_interval(interval '-2147483600 days -1900 hours')
SELECT justify_interval(interval '2147483640 mons 230 days 240 hours')
SELECT justify_interval(interval '-2147483640 mons -230 days -800 hours')
SELECT justify_interval(interval '1 mon -5 days 300 hours'), justify_interval(interval '-1 mon 29 days 25 hours')
SELECT extract(epoch from interval '2147483647 days'), date_part('epoch', interval '-2147483648 mons'), extract(epoch from interval '178956970 years 12.5 s')
