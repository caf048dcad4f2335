-- Positions of errors about the type of an expression, which are those of its first token.
select * from docs where doc->'ok' limit 1
select count(*) from docs having 1+1
select case when 1+1 then 1 end
select 1 where 1+1 and true
select 1 where not 1+1
select 1 from docs a join docs b on 1+1
select count(*) filter (where doc->'ok') from docs
select id from docs limit id
select id from docs limit 'x' || 'y'
select id from docs offset 'x' || 'y'
select id from docs limit now()
select id from docs limit (select id from docs)
select id from docs order by doc::json
select id from docs group by doc::json
select sum(1) over (order by id rows 'a'::text||'b' preceding) from docs
select sum(1) over (order by id range 1.5+1 preceding) from docs
select U&'\d800'
select U&'abc\d800x'
select U&'\d800\0061'
select U&'\dc00'
select U&"\d800"
