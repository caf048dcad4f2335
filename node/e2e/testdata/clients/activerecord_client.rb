require 'active_record'
require_relative 'check'

ActiveRecord::Base.establish_connection(adapter: 'postgresql', host: ENV['PGHOST'], port: ENV['PGPORT'],
  username: ENV['PGUSER'], database: ENV['PGDATABASE'], password: ENV['PGPASSWORD'],
  variables: { statement_timeout: '20s' }, min_messages: 'warning')
class Doc < ActiveRecord::Base
  self.primary_key = 'id'
end

class Country < ActiveRecord::Base
  self.table_name = 'by.country'
  self.primary_key = 'id'
end

C = ActiveRecord::Base.connection
real = Doc.where("id NOT LIKE 'odd%'")

check('connection') { [C.active?, C.database_version / 10_000, C.current_database == ENV['PGDATABASE'], C.encoding,
  C.current_schema, C.supports_materialized_views?] }
check('columns') { [Doc, Country].map { |m| m.columns.map { |c| [c.name, c.sql_type, c.type, c.default] } } }
check('keys') { [C.primary_key('docs'), C.foreign_keys('docs'), C.indexes('docs').map(&:name), C.table_exists?('docs'),
  C.table_exists?('nope'), C.data_source_exists?('by.country')] }
check('listing') { [C.tables.include?('docs'), C.schema_exists?('by'), C.schema_names.include?('by'),
  C.extensions.is_a?(Array), C.table_comment('nope')] }
check('finders') do
  [Doc.find('no:2294').doc['name'], Doc.find_by(id: 'nope'), Doc.exists?('fr:1077'), Doc.count,
   Doc.where(id: %w[no:2294 fr:1077]).order(id: :desc).pluck(:id),
   Doc.where('id LIKE ?', 'no-%').order(:id).limit(2).offset(1).ids, Doc.first.id, Doc.order(:id).last.id,
   Doc.where(id: 'zm'..'zz').order(:id).ids,
   Doc.where.not(id: nil).where(id: 'x').or(Doc.where(id: 'no:2294')).ids, Doc.minimum(:id), Doc.none.to_a]
end
check('not found') { Doc.find('nope') }
check('json') do
  [real.where("doc->>'country' = ?", 'NO').count, real.where('doc @> ?', { country: 'NO' }.to_json).count,
   real.where("doc->'n' > ?", '3420').ids,
   real.where("(doc->>'n')::int = ANY(ARRAY[?])", [1, 2, 3]).count, real.where("doc #>> '{nested,a,b}' = '3'").count,
   real.group("doc->>'country'").having('count(*) > 150').count.sort]
end
check('views') { [Country.where(key: 'IS').order(:id).pluck(:id, :value), Country.where("key = '\"NO\"'").count,
  Country.where('value > ?', '3420').pluck(:id)] }
check('batches') { n = 0; Doc.find_each(batch_size: 1000) { n += 1 }; n }
check('in batches') { Doc.where('id > ?', 'n').in_batches(of: 500).sum(&:count) }
check('transaction') do
  Doc.transaction(isolation: :repeatable_read) do
    n = Doc.count
    sp = begin
      Doc.transaction(requires_new: true) { C.execute('SELECT 1/0') }
    rescue ActiveRecord::StatementInvalid => e
      sqlstate(e)
    end
    [n, sp, Doc.count]
  end
end
check('types') do
  r = C.select_rows("SELECT interval '1 year 2 months 3 days 04:05:06', 1.5::numeric, '{1,2}'::int[], " \
    "'{a,b}'::text[], now() IS NULL, '\\x00ff'::bytea, date '2024-02-29', 5::oid, '{\"a\": 1}'::jsonb")
  [r, C.select_value("SELECT interval '26:00:00'"), C.select_value('SHOW intervalstyle'),
   C.select_all("SELECT interval '1 day' AS i, '{1,2}'::int[] AS a").to_a.map do |h|
     C.send(:build_result, columns: h.keys, rows: [h.values]).rows
   end]
end
check('typed') do
  Doc.select("id, interval '1 day 2 hours' AS i, 1.5 AS d, now() - now() AS z, '{1,2}'::int[] AS a")
     .where(id: 'no:2294').map { |d| [d.i.inspect, d.d, d.z.inspect, d.a] }
end
check('errors') { C.execute('SELECT nope FROM docs') }
check('locks') { [C.get_advisory_lock(4711), C.get_advisory_lock(4711), C.release_advisory_lock(4711),
  C.release_advisory_lock(4711), C.release_advisory_lock(4711)] }
check('timeouts') do
  C.execute("SET statement_timeout = '200ms'")
  C.execute('SELECT count(*) FROM generate_series(1, 10000000000)')
end
check('explain') { Doc.where(id: 'x').explain.is_a?(String) }
