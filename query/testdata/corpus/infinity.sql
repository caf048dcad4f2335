-- Infinite dates and timestamps.
SELECT date 'infinity', date '-infinity', date 'infinity' > date '2020-01-01', date '-infinity' < date '4000-01-01 BC'
SELECT date 'infinity' + 1, date 'infinity' - 1, date '-infinity' + 1
SELECT date 'infinity' - date '2020-01-01'
SELECT date '2020-01-01' - date '-infinity'
SELECT date 'infinity'::timestamp, timestamp 'infinity'::date, timestamptz 'infinity'::date, date '-infinity'::timestamptz, timestamp '-infinity'::timestamptz, timestamptz 'infinity'::timestamp
SELECT extract(year FROM date 'infinity'), extract(epoch FROM date 'infinity'), extract(year FROM timestamp '-infinity'), extract(isoyear FROM timestamptz 'infinity')
SELECT extract(month FROM date 'infinity'), extract(day FROM timestamp '-infinity'), date_part('hour', timestamptz 'infinity'), date_part('century', timestamp '-infinity')
SELECT extract(foo FROM timestamp 'infinity')
SELECT date 'infinity' + interval '1 day', timestamp '-infinity' - interval '1 year', timestamptz 'infinity' + interval '3 months'
SELECT date_trunc('day', timestamp 'infinity'), date_trunc('year', timestamptz '-infinity')
SELECT isfinite(date 'infinity'), isfinite(timestamp 'infinity'), isfinite(interval '1 day'), isfinite(date '2020-01-01'), isfinite(timestamptz '-infinity')
SELECT timestamp 'infinity' - timestamp '2020-01-01'
SELECT timestamptz '2020-01-01' - timestamptz '-infinity'
SELECT timestamp 'infinity' AT TIME ZONE 'Europe/Oslo', timestamptz '-infinity' AT TIME ZONE 'Europe/Oslo'
SELECT to_json(date 'infinity'), to_jsonb(timestamp '-infinity'), date 'infinity'::text, to_jsonb(timestamptz 'infinity')
SELECT greatest(date 'infinity', date '2020-01-01'), least(timestamp '-infinity', timestamp '2020-01-01')
SELECT date ' InFinity ', timestamp ' -INFINITY'
SELECT date '+infinity'
SELECT max(d), min(d) FROM (VALUES (date 'infinity'), (date '-infinity'), (date '2020-01-01')) v(d)
SELECT d FROM (VALUES (date 'infinity'), (date '-infinity'), (date '2020-01-01')) v(d) ORDER BY d
SELECT date 'infinity' = date 'infinity', date 'infinity' = timestamp 'infinity', timestamp 'infinity' = timestamptz 'infinity'
SELECT date 'today' = current_date, date 'epoch', date 'tomorrow' - date 'today', date 'yesterday' < date 'today'
-- A series of times that runs off the calendar is an error.
SELECT * FROM generate_series('294276-12-30'::timestamp, '294276-12-31 23:59:59', '1 day')
SELECT count(*) FROM generate_series('294276-12-30'::timestamptz, 'infinity', '1 day')
SELECT count(*) FROM generate_series('4714-11-24 BC'::timestamp, '-infinity', '-1 day')
SELECT count(*) FROM generate_series('4714-11-25 BC'::timestamp, '4714-11-24 BC', '-1 day')
SELECT generate_series('294276-12-31'::timestamp, '294276-12-31', '1 day')
SELECT count(*) FROM generate_series('294276-12-30'::timestamp, '294276-12-31', '12 hours')
