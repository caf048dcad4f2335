# ruby-pg and Sequel.
require 'pg'
require 'sequel'
require_relative 'check'

conn = PG.connect
conn.type_map_for_results = PG::BasicTypeMapForResults.new(conn)

check('parameters') do
  conn.exec_params('SELECT $1::int, $2::float8, $3::text, $4::bool, $5::text, $6::int[], $7::jsonb, ' \
                   '$8::timestamptz, $9::numeric, $10::date',
                   [1, 1.5, "it's é", true, nil, '{1,2}', '{"a":[1,null]}', '2024-01-02 03:04:05+00', '12.340',
                    '2024-02-29']).values
end
check('documents') do
  conn.exec_params("SELECT id, doc->>'name' AS name, doc->'n' AS n FROM docs WHERE id = ANY($1::text[]) ORDER BY id",
                   ['{no:2294,fr:1077}']).to_a
end
check('filters') do
  [["SELECT count(*) FROM docs WHERE doc->>'country' = $1", ['NO']],
   ['SELECT count(*) FROM docs WHERE doc @> $1', ['{"country":"NO"}']],
   ["SELECT count(*) FROM docs WHERE doc->'n' > $1", [3420]],
   ['SELECT count(*), min(id) FROM "by".country WHERE key = $1', ['"NO"']],
   ['SELECT id FROM "by".n WHERE key >= $1 AND key < $2 ORDER BY key', [5, 8]]].map { |q, v|
     conn.exec_params(q, v).values }
end
check('binary') { conn.exec_params('SELECT id, $1::int8, $2::float8, true FROM docs WHERE id = $3',
  [5, 1.25, 'no:2294'], 1).values }
check('prepared') do
  conn.prepare('one', 'SELECT id FROM docs WHERE id = $1')
  [conn.exec_prepared('one', ['no:2294']).values, conn.exec_prepared('one', ['x']).values,
   conn.describe_prepared('one').nparams]
end
check('single rows') do
  conn.send_query('SELECT id FROM docs ORDER BY id LIMIT 20')
  conn.set_single_row_mode
  out = []
  while (r = conn.get_result)
    r.check
    r.each_row { |row| out << row[0] }
  end
  out
end
check('copy') do
  out = +''
  conn.copy_data("COPY (SELECT id, doc->>'name' FROM docs ORDER BY id LIMIT 20) TO STDOUT") do
    while (row = conn.get_copy_data)
      out << row
    end
  end
  out
end
check('transactions') do
  out = []
  conn.transaction { |c| out << c.exec('SELECT 1').values }
  begin
    conn.transaction { |c| c.exec('SELECT nope FROM docs') }
  rescue PG::Error => e
    out << [sqlstate(e), e.result.error_field(PG::Result::PG_DIAG_STATEMENT_POSITION), e.class]
  end
  out << conn.transaction_status
end
check('cancel') do
  conn.send_query('SELECT count(*) FROM generate_series(1, 10000000000)')
  sleep 0.1
  conn.cancel
  begin
    conn.get_last_result
  rescue PG::Error => e
    sqlstate(e)
  end
end
check('pipeline') do
  conn.enter_pipeline_mode
  conn.send_query_params('SELECT $1::int', [7])
  conn.send_query_params('SELECT 1/$1::int', [0])
  conn.pipeline_sync
  out = []
  begin
    while (r = conn.get_result) do out << r.values end
    while (r = conn.get_result) do r.check end
  rescue PG::Error => e
    out << sqlstate(e)
  end
  conn.get_result
  out << conn.get_result&.result_status
  conn.exit_pipeline_mode
  out
end

DB = Sequel.connect(adapter: 'postgres', host: ENV['PGHOST'], port: ENV['PGPORT'].to_i, user: ENV['PGUSER'],
  database: ENV['PGDATABASE'], password: ENV['PGPASSWORD'])
DB.extension :pg_json, :pg_array
Sequel.extension :pg_json_ops
docs = DB[:docs]
real = docs.exclude(Sequel.like(:id, 'odd%'))
j = Sequel.pg_jsonb_op(:doc)

check('sequel tables') { [DB.tables.include?(:docs), DB.table_exists?(:docs), DB.table_exists?(:nope),
  DB.server_version / 10_000] }
check('sequel schema') { DB.schema(:docs).map { |n, c| [n, c[:db_type], c[:type], c[:primary_key], c[:oid]] } }
check('sequel view schema') do
  DB.schema(Sequel.qualify(:by, :country)).map { |n, c| [n, c[:db_type], c[:primary_key]] }
end
check('sequel keys') { [DB.primary_key(:docs), DB.primary_key_sequence(:docs), DB.foreign_key_list(:docs),
  DB.check_constraints(:docs), DB.indexes(:docs).size] }
check('sequel datasets') do
  [docs.where(id: 'no:2294').get(Sequel.lit("doc->>'name'")),
   docs.where(id: %w[no:2294 fr:1077]).order(Sequel.desc(:id)).select_map(:id), docs.count,
   docs.where(Sequel.like(:id, 'no-%')).order(:id).limit(2, 1).select_map(:id), docs.max(:id),
   real.where(j.get_text('country') => 'NO').count, real.where(j.contains('country' => 'NO')).count,
   real.where(j.has_key?('tags')).count,
   real.where(j.get_text(%w[nested a b]) => '3').count,
   real.where(Sequel.cast(j.get_text('n'), Integer) > 3420).select_map(:id),
   real.group_and_count(j.get_text('country').as(:c)).having { count(Sequel.lit('*')) > 150 }
       .order(Sequel.desc(:count), :c).all,
   DB[Sequel.qualify(:by, :country)].where(key: Sequel.pg_jsonb_wrap('IS')).order(:id).select_map([:id, :value])]
end
check('sequel cursor') { docs.order(:id).limit(250).use_cursor(rows_per_fetch: 100).select_map(:id).size }
check('sequel transaction') do
  DB.transaction(isolation: :repeatable, read_only: true) do
    n = docs.count
    sp = begin
      DB.transaction(savepoint: true) { DB.get(Sequel.lit('1/0')) }
    rescue Sequel::Error => e
      sqlstate(e)
    end
    [n, sp, docs.count]
  end
end
check('sequel copy') { DB.copy_table(docs.select(:id).order(:id).limit(3)) }
check('sequel errors') { DB['SELECT nope FROM docs'].all }
