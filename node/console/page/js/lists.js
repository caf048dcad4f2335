// Views that are one list each.
import {
  el, none, dim, named, text, time, known, count, plural, bytes, link, badge, duration, measure, psql, bad, toDatabase,
  toNode, endOf, advance,
} from './dom.js';
import { list, col, num } from './table.js';
import { eventsOf } from './stories.js';
import { button } from './actions.js';

const trouble = s => (s ? bad(` ${text(s)}`) : '');

export const shardColumns = [
  col('Database',
    s => [toDatabase(s.database), ' ', link(['databases', s.database, 'feeds', s.shard], `shard ${s.shard}`)],
    'database',
  ),
  col('Actor on', s => toNode(s.owner), 'owner'),
  col('Listened to on', s => toNode(s.node), 'node'),
  col('State', s => [s.state, trouble(s.error)], 'state'),
  num('Lag', s => el('span', { class: s.lag >= 1 ? 'bad' : '' }, duration(s.lag)), 'lag'),
  num('Feeds', s => [count(s.listeners), s.upkeep ? dim(', and indexes') : ''], 'listeners'),
  num('Nodes woken', s => count(s.followers), '', true),
  num('Wakes', s => count(s.wakes), 'wakes'),
];

export const indexColumns = [
  col('Index',
    x => [
      toDatabase(x.database),
      ' ',
      link(['databases', x.database, 'doc', x.design], x.design),
      dim(` ${(x.views || []).map(named).join(', ')}`),
    ],
    'database',
  ),
  col('State',
    x => [
      x.task
        ? [
            advance(x.task) || plural(x.task.done, 'document'),
            x.task.rate ? `, ${measure(x.task.rate, '/s')}` : '',
            x.task.left === undefined ? '' : `, ${duration(x.task.left)} to go`,
          ]
        : x.current
          ? badge('ok', 'up to date')
          : badge(
              !x.building && x.lag >= 0 && x.lag < 1 ? 'ok' : 'pending',
              x.building ? 'building' : x.lag < 0 ? 'not built: a query builds it' : `${duration(x.lag)} behind`,
            ),
      x.failures
        ? bad(` failed ${plural(x.failures, 'time')}: ${x.failure}`)
        : '',
    ],
    'lag',
  ),
  num('Rows', x => count(x.rows), 'rows'),
  num('Size', x => bytes(x.bytes), 'bytes'),
  num('Skipped documents',
    x =>
      x.errors
        ? el('span', { title: text(x.skipped) }, link(['databases', x.database, 'failures', x.design], count(x.errors)))
        : '0',
    'errors',
  ),
  col('Built on', x => (x.nodes || []).map((name, i) => [i ? ', ' : '', toNode(name)]), 'node', true),
  { title: 'Actions', cell: x => button('Rebuild',
    `All ${count(x.rows)} rows of ${x.design} in ${x.database} are removed and built again. ` +
      'Requests for its views wait until then.',
    { do: 'rebuild_index', database: x.database, design: x.design }) },
];

const jobColumns = [
  col('Job',
    j => [
      `${j.type} `,
      j.design
        ? [
            link(['databases', j.database], j.design, { 'indexes.search': j.design }),
            ' in ',
            toDatabase(j.database),
            dim(` ${named(j.id)}`),
          ]
        : j.type === 'replication'
          ? link(['replications'], j.id, { search: j.id })
          : j.type === 'compaction'
            ? toDatabase(j.id)
            : named(j.id),
    ],
    'id',
  ),
  col('State',
    j => [
      badge(j.state),
      j.state === 'pending' && j.failures
        ? [': next attempt ', time(j.due), `, ${plural(j.failures, 'failed attempt')}`]
        : '',
      trouble(j.error),
    ],
    'state',
  ),
  col('Worker', j => (j.worker ? toNode(j.worker) : ''), 'worker'),
  num('Failures', j => el('span', { class: j.failures ? 'bad' : 'dim' }, count(j.failures)), 'failures'),
  num('Lease', j => (j.lease ? duration(j.lease) : ''), '', true),
  num('Token', j => j.token, '', true),
  col('Asked for', j => time(j.created), 'created'),
  col('Updated', j => time(j.updated), 'updated'),
  col('Actions',
    j => [
      j.state === 'pending'
        ? button('Retry', `Job ${j.type} ${j.id} starts now.`, { do: 'retry_job', type: j.type, id: j.id })
        : '',
      ' ',
      // A replication document brings its job back: it is to be deleted instead. What is damaged is made anew.
      j.type === 'replication' && !j.id.startsWith('/') && j.state !== 'damaged'
        ? ''
        : button('Drop', `Job ${j.type} ${j.id} is removed. What asked for it may ask again.`,
            { do: 'drop_job', type: j.type, id: j.id }),
    ],
  ),
];

const replicationColumns = [
  col('From', r => [text(r.source) || '–', r.continuous ? dim(' continuous') : ''], 'source'),
  col('To', r => r.target || '–', 'target'),
  col('State', r => [badge(r.state), trouble(r.error)], 'state'),
  num('Written', r => count(r.written), 'written'),
  num('Pending', r => known(r.pending, count), 'pending'),
  num('Refused', r => el('span', { class: r.failed ? 'bad' : 'dim' }, count(r.failed)), 'failed'),
  num('Errors in a row', r => count(r.errors), 'errors', true),
  col('Node', r => (r.node ? toNode(r.node) : ''), 'node'),
  col('Asked for by',
    r =>
      r.document
        ? link(['databases', r.database, 'doc', r.document], r.document)
        : dim(`${text(r.user) || 'a request'}`),
    'document',
  ),
  col('Since', r => time(r.changed), 'changed'),
];

/** Whether a statement is only known in part, which could do something else. Nodes of version 0.2.0 do not say so. */
const cut = s => s.cut || text(s.statement).endsWith('…');

const sessionColumns = [
  col('Session', s => [s.pid, dim(` ${named(s.application)}`)], 'pid'),
  col('Node', s => toNode(s.node), 'node'),
  col('User', s => named(s.user), 'user'),
  col('Database', s => (s.database === 'divan' ? 'divan' : toDatabase(s.database)), 'database'),
  col('State', s => badge(s.state === 'active' ? 'running' : '', s.state), 'state'),
  col('Since', s => time(s.began || s.since), 'began'),
  col('Statement',
    s => [
      el('code', {}, s.statement),
      cut(s) ? el('p', { class: 'dim' }, 'This is only its beginning: it cannot be opened in SQL.') : '',
      s.plan ? el('details', {}, el('summary', { class: 'dim' }, 'plan'), el('pre', {}, s.plan)) : '',
    ],
  ),
  num('Examined', s => (s.examined ? count(s.examined) : ''), 'examined'),
  num('Returned', s => (s.returned ? count(s.returned) : ''), 'returned'),
  num('Rows in all', s => count(s.rows), 'rows', true),
  col('Actions',
    s => [
      s.statement && !cut(s) ? [link(['sql', s.database], 'Open in SQL', { q: s.statement }), ' '] : '',
      s.state === 'active'
        ? button('Cancel', `The statement of session ${s.pid} on ${s.node} is cancelled: its client gets error 57014.`,
            { do: 'cancel', node: s.node, pid: s.pid },
            { go: 'Cancel the statement', stay: 'Keep it running' },
          )
        : '',
      ' ',
      button('End', `Session ${s.pid} of ${s.user} on ${s.node} is ended: its client gets error 57P01.`,
        { do: 'terminate', node: s.node, pid: s.pid },
        { go: 'End the session' },
      ),
    ],
  ),
];

const view = (name, caption, columns, empty) => (place, say) =>
  list(place, name, caption, columns, () => none(empty), say);

export const feeds = view('shards', 'Changes shards', shardColumns,
  'No one listens to a changes feed. Try: curl -N "…/orders/_changes?feed=continuous"',
);
/** The lines that make an index in a database. */
export const teachIndex = name => [
  none('There is no view. A view is a map function in a design document; asking for it builds its index:'),
  el('pre', {},
    [
      `curl -X PUT ${location.origin}/${encodeURIComponent(name)}/_design/by -H 'Content-Type: application/json' \\`,
      `  -d '{"views":{"customer":{"map":"function (doc) { emit(doc.customer) }"}}}'`,
      `curl ${location.origin}/${encodeURIComponent(name)}/_design/by/_view/customer`,
      'SELECT key, id FROM "by".customer',
    ].join('\n'),
  ),
];

export const indexes = (place, say) =>
  list(place, 'indexes', 'Indexes', indexColumns, () => teachIndex('orders'), say);
export const replications = view('replications', 'Replications', replicationColumns,
  'There is no replication. A document in _replicator with source and target starts one that outlives restarts.',
);
export const jobs = view('jobs', 'Jobs', jobColumns, 'The queue is empty: nothing waits to be built or compacted.');
export const sessions = (place, say) => {
  const empty = p => none('No session is open.', p.sql ? ` Try: ${psql(p.sql)} -d orders` : '');
  return endOf([
    list(place, 'sessions', 'SQL sessions', sessionColumns, empty, say),
    eventsOf(place, 'Slow statements', 'slow_statement', p => [
      'No statement has taken longer than two seconds',
      p.since ? [' since ', el('span', { title: text(p.since) }, new Date(p.since).toLocaleString())] : '',
      '. Nodes keep this in memory.',
    ]),
  ]);
};
