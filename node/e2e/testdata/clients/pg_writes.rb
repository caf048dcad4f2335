require 'pg'
require 'sequel'
require_relative 'check'

c = PG.connect
db = Sequel.connect(adapter: 'postgres', host: ENV['PGHOST'], port: ENV['PGPORT'], user: ENV['PGUSER'],
  database: ENV['PGDATABASE'], password: ENV['PGPASSWORD'])
db.extension :pg_json
Sequel.extension :pg_json_ops
stored = ->(like = '%') { c.exec_params("SELECT id, doc - '_id' - '_rev' FROM docs WHERE id LIKE $1 ORDER BY id",
  [like]).values }

check('pg') do
  r = c.exec_params('INSERT INTO docs (id, doc) VALUES ($1, $2) RETURNING id', ['a', '{"n": 1}'])
  u = c.exec("UPDATE docs SET doc = '{\"n\": 2}' WHERE id = 'a'")
  c.prepare('d', "DELETE FROM docs WHERE id = $1 RETURNING doc->'n'")
  [r.values, r.cmd_tuples, r.cmd_status, u.cmd_tuples, u.cmd_status, c.exec_prepared('d', ['a']).values]
end
check('pg pipeline') do
  c.enter_pipeline_mode
  3.times { |i| c.send_query_params('INSERT INTO docs (id, doc) VALUES ($1, $2)', ["p#{i}", '{}']) }
  c.pipeline_sync
  out = []
  while (r = c.get_result)
    out << r.cmd_status
    break if r.result_status == PG::PGRES_PIPELINE_SYNC
    c.get_result
  end
  c.exit_pipeline_mode
  [out, stored.call('p%')]
end
check('pg copy') do
  c.copy_data("COPY docs (id, doc) FROM STDIN", PG::TextEncoder::CopyRow.new) do
    5.times { |i| c.put_copy_data(["c#{i}", "{\"i\": \"\\\\#{i}\"}"]) }
  end
  begin
    c.copy_data('COPY docs FROM STDIN') { raise ArgumentError }
  rescue ArgumentError => e
    e.class
  end
  stored.call('c%')
end
check('pg transaction') do
  begin
    c.transaction { |x| x.exec("DELETE FROM docs WHERE id = 'p0'"); raise PG::RollbackTransaction }
  rescue StandardError
    c.exec('ROLLBACK')
  end
  c.transaction { |x| x.exec("DELETE FROM docs WHERE id = 'p1'") }
  stored.call('p%')
end
check('sequel') do
  docs = db[:docs]
  docs.insert(id: 's1', doc: Sequel.pg_jsonb(n: 1))
  docs.multi_insert((2..6).map { |i| { id: "s#{i}", doc: Sequel.pg_jsonb(n: i) } })
  docs.import(%i[id doc], (7..9).map { |i| ["s#{i}", Sequel.pg_jsonb(n: i)] }, commit_every: 2)
  r = docs.returning(:id).insert(id: 's0', doc: Sequel.pg_jsonb({}))
  u = docs.where(id: 's1').update(doc: Sequel.pg_jsonb_op(:doc).concat(Sequel.pg_jsonb(m: 1)))
  k = docs.insert_conflict(target: :id, update: { doc: Sequel[:excluded][:doc] })
          .insert(id: 's2', doc: Sequel.pg_jsonb(over: 1))
  i = docs.insert_ignore.insert(id: 's2', doc: Sequel.pg_jsonb({}))
  d = docs.where(Sequel.pg_jsonb_op(:doc).get_text('n') => '9').delete
  [r, u, k, i, d, docs.where(id: 's8').returning.delete.map { |x| x[:id] }, stored.call('s%')]
end
check('sequel model') do
  m = Class.new(Sequel::Model(db[:docs]))
  m.unrestrict_primary_key
  x = m.create(id: 'model', doc: Sequel.pg_jsonb(a: 1))
  x.update(doc: Sequel.pg_jsonb(a: 2))
  y = m.with_pk!('model')
  y.doc['b'] = 3
  y.modified!(:doc)
  y.save_changes
  m.with_pk!('s0').destroy
  stored.call('model') + stored.call('s0')
end
check('sequel transaction') do
  db.transaction do
    db[:docs].insert(id: 't1', doc: Sequel.pg_jsonb({}))
    db.transaction(savepoint: true) { db[:docs].delete; raise Sequel::Rollback }
  end
  db.transaction(rollback: :always) { db[:docs].delete }
  n = 0
  db.transaction(retry_on: Sequel::SerializationFailure, num_retries: 3, isolation: :serializable) do
    n += 1
    db[:docs].where(id: 't1').get(:id)
    c.exec("UPDATE docs SET doc = '{\"other\": 1}' WHERE id = 't1'") if n == 1
    db[:docs].where(id: 't1').update(doc: Sequel.pg_jsonb(n: n))
  end
  [n, stored.call('t%')]
end
check('sequel errors') do
  [{ id: 't1', doc: Sequel.pg_jsonb({}) }, { id: nil, doc: Sequel.pg_jsonb({}) }, { id: 'x', doc: nil }].map do |row|
    db[:docs].insert(row)
  rescue Sequel::DatabaseError => e
    [e.class, e.wrapped_exception.result.error_field(PG::Result::PG_DIAG_SQLSTATE),
      e.wrapped_exception.result.error_field(PG::Result::PG_DIAG_CONSTRAINT_NAME),
      e.wrapped_exception.result.error_field(PG::Result::PG_DIAG_COLUMN_NAME)]
  end
end
