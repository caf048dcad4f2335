-- alone
-- set_config with NULLs.
SELECT set_config('nope', null, false)
SELECT set_config(null, 'a', false)
SELECT set_config('extra_float_digits', '3', null), set_config('extra_float_digits', null, false)
SELECT set_config('a.b', 'x', false), set_config('a.b', null, false), current_setting('a.b')
SELECT set_config('extra_float_digits', 'x', false)
