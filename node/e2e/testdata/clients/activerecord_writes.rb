require 'active_record'
require_relative 'check'

ActiveRecord::Base.establish_connection(adapter: 'postgresql', host: ENV['PGHOST'], port: ENV['PGPORT'],
  username: ENV['PGUSER'], database: ENV['PGDATABASE'], password: ENV['PGPASSWORD'], min_messages: 'warning')
class Doc < ActiveRecord::Base
  self.primary_key = 'id'
  self.ignored_columns = ['rev']
  store_accessor :doc, :n, :title
end

C = ActiveRecord::Base.connection
def own(d)
  d.reject { |k, _| %w[_id _rev].include?(k) }
end

def stored(like = '%')
  Doc.where('id LIKE ?', like).order(:id).map { |d| [d.id, own(d.doc)] }
end

check('create') do
  d = Doc.create!(id: 'a', doc: { n: 1 })
  Doc.new(id: 'b', doc: { 'n' => 2, 'tags' => [1, nil] }).save!
  Doc.create!([{ id: 'c', doc: {} }, { id: 'd', n: 4, title: 'four' }])
  [d.persisted?, d.id, stored]
end
check('update') do
  d = Doc.find('b')
  d.doc['more'] = true
  d.save!
  d.reload
  d.title = 'two'
  d.save!
  d.reload.update!(doc: { 'new' => 1 })
  Doc.find('a').update_columns(doc: { 'n' => 11 })
  [stored('b'), Doc.where(id: %w[c d]).update_all("doc = doc || '{\"all\": 1}'"),
   Doc.where(id: 'c').update_all(doc: { x: 1 }), stored]
end
check('bulk') do
  r = Doc.insert_all((1..20).map { |i| { id: "m#{i}", doc: { n: i } } })
  i = Doc.insert_all([{ id: 'm1', doc: {} }, { id: 'm21', doc: {} }], returning: %w[id])
  u = Doc.upsert_all([{ id: 'm1', doc: { up: 1 } }, { id: 'm22', doc: { up: 2 } }], unique_by: :id)
  [r.rows.length, i.rows, u.rows, stored('m1'), stored('m2_')]
end
check('insert_all!') { Doc.insert_all!([{ id: 'm1', doc: {} }]) }
check('duplicate') { Doc.create!(id: 'a', doc: {}) }
check('null') { C.execute("INSERT INTO docs (id, doc) VALUES ('x', NULL)") }
check('delete') { [Doc.find('d').destroy.destroyed?, Doc.delete('c'), Doc.where("(doc->>'n')::int > 15").delete_all,
  Doc.where(id: 'm1').destroy_all.length, Doc.count] }
check('transaction') do
  Doc.transaction do
    Doc.create!(id: 't1', doc: {})
    begin
      Doc.transaction(requires_new: true) { Doc.create!(id: 't1', doc: {}) }
    rescue ActiveRecord::RecordNotUnique => e
      p_ = sqlstate(e)
    end
    Doc.transaction(requires_new: true) do
      Doc.delete_all
      raise ActiveRecord::Rollback
    end
    Doc.create!(id: 't2', doc: { code: p_ })
  end
  Doc.transaction do
    Doc.delete_all
    raise ActiveRecord::Rollback
  end
  stored('t%')
end
check('lock') do
  d = Doc.find('a')
  d.with_lock { d.update!(n: 12) }
  Doc.transaction { Doc.lock('FOR UPDATE SKIP LOCKED').where(id: 'a').first.update!(n: 13) }
  stored('a')
end
check('find or create') { [Doc.find_or_create_by!(id: 'a').doc['n'],
  Doc.create_or_find_by!(id: 'f') { |d| d.doc = { made: 1 } }.doc, stored('f')] }
check('prepared') do
  attribute = ActiveRecord::Relation::QueryAttribute
  id = attribute.new('id', 'p', ActiveRecord::Type::Text.new)
  doc = attribute.new('doc', { z: 1 }, ActiveRecord::ConnectionAdapters::PostgreSQL::OID::Jsonb.new)
  C.exec_insert("INSERT INTO docs (id, doc) VALUES ($1, $2)", 'x', [id, doc])
  [C.exec_delete("DELETE FROM docs WHERE id = $1", 'x', [id]), C.update("UPDATE docs SET doc = '{}' WHERE id = 'f'")]
end
check('whole rows') do
  whole = Class.new(ActiveRecord::Base) { self.table_name = 'docs'; self.primary_key = 'id' }
  w = whole.create!(id: 'w', doc: { w: 1 })
  w.reload
  w.doc = { w: 2 }
  w.save!
  stored('w')
end
check('serializable') do
  Doc.transaction(isolation: :serializable) do
    Doc.find('a')
    other = PG.connect(host: ENV['PGHOST'], port: ENV['PGPORT'], user: ENV['PGUSER'], dbname: ENV['PGDATABASE'],
      password: ENV['PGPASSWORD'])
    other.exec("UPDATE docs SET doc = '{}' WHERE id = 'a'")
    other.close
    Doc.where(id: 'a').update_all("doc = '{}'")
  end
end
