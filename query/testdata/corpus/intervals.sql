-- Intervals of more than a day of hours.
SELECT interval '27:46:40', interval '100:00', '-27:46:40'::interval, interval '24:00:01'
SELECT interval '1 day 30:00 ago', interval '1:59:60'
SELECT 100000 * interval '1 second'
