// The first screen: is all well, what is not, and how much is going on.
import {
  el, none, dim, section, text, time, count, plural, measure, badge, link, duration, psql, redraw, endOf, toDatabase,
  toNode, advance,
} from './dom.js';
import { given, note } from './address.js';
import { follow } from './source.js';
import { plotsOf } from './plots.js';
import { spark } from './plot.js';
import { table, col, num } from './table.js';
import { storyLines, eventColumns } from './stories.js';

const series = ['docs_written', 'feed_rows', 'commit_p99', 'index_lag', 'conflicts', 'http_failed'];

const attention = a =>
  el('li', { class: a.severity, key: a.story ? `${a.story.id} ${a.node}` : `${a.node} ${a.text}` },
    a.story
      ? el('details', {},
          el('summary', {}, a.text, ' ', dim(time(a.since))),
          storyLines(a.story),
        )
      : [
          a.text,
          a.node ? dim(` · ${a.node}`) : '',
          a.since ? [' ', dim(time(a.since))] : '',
          a.link ? [' ', el('a', { href: `#/${a.link}` }, 'show')] : '',
        ],
  );

const told = (title, list) =>
  list.length ? section(title, el('ul', { class: 'attention' }, list.map(attention))) : '';

const number = (what, n) => link([what], n === null ? `unknown number of ${what}` : plural(n, what.slice(0, -1)));

const value = (n, name) => (n.now || {})[name];
const now = (n, name, unit) => measure(value(n, name), unit);
const drawn = (n, name, what, unit) => [spark((n.lines || {})[name], `${n.name}: ${what}`, unit), now(n, name, unit)];
const gauge = (title, sort, extra, cell = n => now(n, sort, '')) =>
  num(title, cell, sort, extra);
const room = (title, sort, extra) => gauge(title, sort, extra, n => (value(n, sort) ? now(n, sort, 'B') : '–'));

const nodeColumns = [
  col('Node', n => [toNode(n.name), n.self ? dim(' asked') : ''], 'name'),
  col('State', n => badge(n.given_up ? 'failed' : n.state, n.state === 'ok' ? 'works' : n.text), 'state'),
  col('Up',
    n =>
      n.started ? el('span', { title: text(n.started) }, duration((Date.now() - Date.parse(n.started)) / 1000)) : '',
    'started',
  ),
  gauge('Writes', 'docs_written', false, n => drawn(n, 'docs_written', 'documents written', '/s')),
  gauge('Feeds', 'listeners'),
  gauge('Actors', 'actors', true),
  gauge('Mailboxes', 'mailbox', true),
  gauge('Processors', 'cpu', false, n => drawn(n, 'cpu', 'processors in use', '')),
  room('Memory', 'resident'),
  room('Disk left', 'disk_free', true),
  col('Version', n => el('span', { class: 'short' }, n.version), 'version', true),
];

/** The table of nodes, sorted as the address says. A click on a column changes that, and calls again. */
export const nodeTable = (nodes, again) => {
  const sort = given().get('sort'),
    desc = given().get('desc') === 'true',
    column = nodeColumns.find(c => c.sort === sort),
    of = n => n[sort] ?? value(n, sort) ?? -Infinity,
    rows = column ? [...nodes].sort((a, b) => ((of(a) > of(b)) - (of(a) < of(b))) * (desc ? -1 : 1)) : nodes;
  const by = (sort, desc) => {
    note({ sort, desc: desc && 'true' });
    again();
  };
  return table('Nodes', nodeColumns, rows, { sort, desc, by });
};

const tasks = list =>
  table('Builds and compactions',
    [
      col('Database', t => toDatabase(t.database)),
      col('What', t => text(t.design || t.type.replaceAll('_', ' ')) + (t.shard ? ` · shard ${t.shard}` : '')),
      col('Progress', advance),
      num('Documents', t => count(t.done) + (t.total ? ` of ${count(t.total)}` : ''), '', true),
      num('Rate', t => (t.rate ? measure(t.rate, '/s') : '')),
      num('To go', t => (t.left === undefined ? '' : duration(t.left))),
      col('Node', t => toNode(t.node)),
    ],
    list,
  );

const empty = sql =>
  section('How to begin',
    el('p', {}, 'There is no database yet. These lines make one, with a document and a view:'),
    el('pre', {},
      [
        `curl -X PUT ${location.origin}/orders`,
        `curl -X PUT ${location.origin}/orders/1 -d '{"customer":"anna","total":12}'`,
        `curl -X PUT ${location.origin}/orders/_design/by -d '{"views":{"customer":` +
          '{"map":"function (doc) { emit(doc.customer, doc.total) }","reduce":"_sum"}}}\'',
        sql && `${psql(sql)} -d orders -c 'SELECT key, sum(value) FROM "by".customer GROUP BY key'`,
      ].join('\n'),
    ),
  );

export const overview = (place, say) => {
  const tiles = el('div', { class: 'tiles' }),
    body = el('div');
  place.append(tiles, body);
  const running = plotsOf([[tiles, series]]);
  const stop = follow('overview', {},
    function draw(o) {
      redraw(body,
        told('Needs attention', o.attention),
        section('Nodes', nodeTable(o.nodes, () => draw(o))),
        o.tasks.length ? section('Under way', tasks(o.tasks)) : '',
        o.databases === 0 && o.state !== 'failed'
          ? empty((o.nodes.find(n => n.self) || {}).sql)
          : el('p', { class: 'dim' },
              number('databases', o.databases),
              ' · ',
              number('jobs', o.jobs && Object.values(o.jobs).reduce((a, b) => a + b, 0)),
              o.failing ? el('span', { class: 'warn' }, `, ${count(o.failing)} have failed before`) : '',
              o.read ? [' · last read ', time(o.read), ': the store does not answer now'] : '',
            ),
        told('Lately', o.lately),
        section('Last events',
          o.events.length ? table('Last events', eventColumns, o.events) : none('Nothing has happened yet.'),
        ),
      );
    },
    say,
  );
  return endOf([running.stop, stop]);
};
