// The first screen: is all well, what is not, and how much is going on.
import { el, section, text, time, count, plural, measure, badge, link, duration, bytes, psql, redraw } from './dom.js';
import { follow } from './source.js';
import { plotsOf } from './plots.js';
import { spark } from './plot.js';
import { table } from './table.js';
import { dim, storyLines, eventColumns } from './stories.js';

const series = ['docs_written', 'feed_rows', 'commit_p99', 'index_lag', 'conflicts', 'http_failed'];

const attention = a =>
  el(
    'li',
    { class: a.severity, key: a.story ? `${a.story.id} ${text(a.node)}` : `${a.node} ${a.text}` },
    a.story
      ? el(
          'details',
          {},
          el('summary', {}, text(a.text), ' ', dim(time(a.since))),
          storyLines(a.story),
        )
      : [
          text(a.text),
          a.node ? dim(` · ${text(a.node)}`) : '',
          a.since ? [' ', dim(time(a.since))] : '',
          a.link ? [' ', el('a', { href: `#/${text(a.link)}` }, 'show')] : '',
        ],
  );

const told = (title, list) =>
  list.length ? section(title, el('ul', { class: 'attention' }, list.map(attention))) : '';

const number = (what, n) => link([what], n === null ? `unknown number of ${what}` : plural(n, what.slice(0, -1)));

const now = (n, name, unit) => (n.now && name in n.now ? measure(n.now[name], unit) : '–');
const drawn = (n, name, what, unit) => [spark((n.lines || {})[name], `${text(n.name)}: ${what}`, unit), now(n, name, unit)];

/** The columns of nodes. */
export const nodeColumns = [
  {
    title: 'Node',
    cell: n => [link(['nodes', n.name], text(n.name)), n.self ? dim(' asked') : ''],
  },
  { title: 'State', cell: n => badge(n.given_up ? 'failed' : n.state, n.state === 'ok' ? 'works' : text(n.text)) },
  {
    title: 'Up',
    cell: n =>
      n.started ? el('span', { title: text(n.started) }, duration((Date.now() - Date.parse(n.started)) / 1000)) : '',
  },
  { title: 'Writes', cell: n => drawn(n, 'docs_written', 'documents written', '/s'), number: true },
  { title: 'Feeds', cell: n => now(n, 'listeners', ''), number: true },
  { title: 'Actors', cell: n => now(n, 'actors', ''), number: true, extra: true },
  { title: 'Mailboxes', cell: n => now(n, 'mailbox', ''), number: true, extra: true },
  { title: 'Processors', cell: n => drawn(n, 'cpu', 'processors in use', ''), number: true },
  { title: 'Memory', cell: n => (n.now && n.now.resident ? bytes(n.now.resident) : '–'), number: true },
  {
    title: 'Disk left',
    cell: n => (n.now && n.now.disk_free ? bytes(n.now.disk_free) : '–'),
    number: true,
    extra: true,
  },
  { title: 'Version', cell: n => el('span', { class: 'short' }, text(n.version)), extra: true },
];

const tasks = list =>
  table(
    'Builds and compactions',
    [
      { title: 'Database', cell: t => link(['databases', t.database], text(t.database)) },
      {
        title: 'What',
        cell: t => text(t.design || t.type.replaceAll('_', ' ')) + (t.shard ? ` · shard ${t.shard}` : ''),
      },
      {
        title: 'Progress',
        cell: t => [el('progress', { max: 100, value: t.progress, 'aria-label': 'progress' }), ` ${t.progress} %`],
      },
      {
        title: 'Documents',
        cell: t => count(t.done) + (t.total ? ` of ${count(t.total)}` : ''),
        number: true,
        extra: true,
      },
      { title: 'Rate', cell: t => (t.rate ? measure(t.rate, '/s') : ''), number: true },
      { title: 'To go', cell: t => (t.left === undefined ? '' : duration(t.left)), number: true },
      { title: 'Node', cell: t => link(['nodes', t.node], text(t.node)) },
    ],
    list,
  );

const empty = sql =>
  section(
    'How to begin',
    el('p', {}, 'There is no database yet. These lines make one, with a document and a view:'),
    el(
      'pre',
      {},
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
    body = el('div', {});
  place.append(tiles, body);
  const running = plotsOf([[tiles, series]]);
  const stop = follow(
    'overview',
    {},
    o => {
      redraw(
        body,
        told('Needs attention', o.attention),
        section('Nodes', table('Nodes', nodeColumns, o.nodes)),
        o.tasks.length ? section('Under way', tasks(o.tasks)) : '',
        o.databases === 0 && o.state !== 'failed'
          ? empty((o.nodes.find(n => n.self) || {}).sql)
          : el(
              'p',
              { class: 'dim' },
              number('databases', o.databases),
              ' · ',
              number('jobs', o.jobs && Object.values(o.jobs).reduce((a, b) => a + b, 0)),
              o.failing ? el('span', { class: 'warn' }, `, ${count(o.failing)} have failed before`) : '',
              o.read ? [' · last read ', time(o.read), ': the store has not answered since'] : '',
            ),
        told('Lately', o.lately),
        section(
          'Last events',
          o.events.length
            ? table('Last events', eventColumns, o.events)
            : el('p', { class: 'none' }, 'Nothing has happened yet.'),
        ),
      );
    },
    say,
  );
  return () => {
    running.stop();
    stop();
  };
};
