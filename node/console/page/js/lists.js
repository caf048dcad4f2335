// Views that are one list each.
import {
  el, named, section, text, time, known, count, plural, bytes, link, badge, duration, measure, psql, redraw,
} from './dom.js';
import { list, table } from './table.js';
import { follow } from './source.js';
import { eventsOf } from './stories.js';
import { button } from './actions.js';

const none = what => () => el('p', { class: 'none' }, what);
const database = name => link(['databases', name], text(name));
const node = name => link(['nodes', name], text(name));
const trouble = s => (s ? el('span', { class: 'bad' }, ` ${text(s)}`) : '');

export const shardColumns = [
  {
    title: 'Database',
    sort: 'database',
    cell: s => [database(s.database), el('span', { class: 'dim' }, ` shard ${text(s.shard)}`)],
  },
  { title: 'Actor on', sort: 'owner', cell: s => node(s.owner) },
  { title: 'Listened to on', sort: 'node', cell: s => node(s.node) },
  { title: 'State', sort: 'state', cell: s => [text(s.state), trouble(s.error)] },
  { title: 'Lag', sort: 'lag', cell: s => el('span', { class: s.lag >= 1 ? 'bad' : '' }, duration(s.lag)), number: true },
  {
    title: 'Feeds',
    sort: 'listeners',
    cell: s => [count(s.listeners), s.upkeep ? el('span', { class: 'dim' }, ', and indexes') : ''],
    number: true,
  },
  { title: 'Nodes woken', cell: s => count(s.followers), number: true, extra: true },
  { title: 'Wakes', sort: 'wakes', cell: s => count(s.wakes), number: true },
];

export const indexColumns = [
  {
    title: 'Index',
    sort: 'database',
    cell: x => [
      database(x.database),
      ` ${named(x.design)}`,
      el('span', { class: 'dim' }, ` ${(x.views || []).map(named).join(', ')}`),
    ],
  },
  {
    title: 'State',
    sort: 'lag',
    cell: x => [
      x.task
        ? [
            el('progress', { max: 100, value: x.task.progress, 'aria-label': 'progress' }),
            ` ${x.task.progress} %`,
            x.task.rate ? `, ${measure(x.task.rate, '/s')}` : '',
            x.task.left === undefined ? '' : `, ${duration(x.task.left)} to go`,
          ]
        : x.current
          ? badge('ok', 'up to date')
          : badge('pending', x.building ? 'building' : x.lag < 0 ? 'not built yet' : `${duration(x.lag)} behind`),
      x.failures
        ? el('span', { class: 'bad' }, ` failed ${plural(x.failures, 'time')}: ${text(x.failure)}`)
        : '',
    ],
  },
  { title: 'Rows', sort: 'rows', cell: x => count(x.rows), number: true },
  { title: 'Size', sort: 'bytes', cell: x => bytes(x.bytes), number: true },
  {
    title: 'Skipped documents',
    sort: 'errors',
    cell: x =>
      x.errors
        ? el('span', { title: text(x.skipped) }, link(['databases', x.database, 'failures', x.design], count(x.errors)))
        : '0',
    number: true,
  },
  {
    title: 'Built on',
    sort: 'node',
    cell: x => (x.nodes || []).map((name, i) => [i ? ', ' : '', node(name)]),
    extra: true,
  },
  { title: 'Actions', cell: x => button('Rebuild',
    `All ${count(x.rows)} rows of ${x.design} in ${x.database} are removed and built again. ` +
      'Requests for its views wait until then.',
    { do: 'rebuild_index', database: x.database, design: x.design }) },
];

const jobColumns = [
  { title: 'Job', sort: 'id', cell: j => [el('span', { class: 'dim' }, `${text(j.type)} `), named(text(j.id))] },
  {
    title: 'State',
    sort: 'state',
    cell: j => [
      badge(j.state),
      j.state === 'pending' && j.failures
        ? [': next attempt ', time(j.due), `, ${plural(j.failures, 'failed attempt')}`]
        : '',
      trouble(j.error),
    ],
  },
  { title: 'Worker', sort: 'worker', cell: j => (j.worker ? node(j.worker) : '') },
  {
    title: 'Failures',
    sort: 'failures',
    cell: j => el('span', { class: j.failures ? 'bad' : 'dim' }, count(j.failures)),
    number: true,
  },
  { title: 'Lease', cell: j => (j.lease ? duration(j.lease) : ''), number: true, extra: true },
  { title: 'Token', cell: j => text(j.token), number: true, extra: true },
  { title: 'Asked for', sort: 'created', cell: j => time(j.created) },
  { title: 'Updated', sort: 'updated', cell: j => time(j.updated) },
  {
    title: 'Actions',
    cell: j => [
      j.state === 'pending'
        ? button('Retry', `Job ${j.type} ${j.id} starts now.`, { do: 'retry_job', type: j.type, id: j.id })
        : '',
      ' ',
      // A replication document brings its job back: it is to be deleted instead. What is damaged is made anew.
      j.type === 'replication' && !j.id.startsWith('/') && j.state !== 'damaged'
        ? ''
        : button('Drop', `Job ${j.type} ${j.id} is removed. What asked for it may ask again.`, {
            do: 'drop_job',
            type: j.type,
            id: j.id,
          }),
    ],
  },
];

const replicationColumns = [
  {
    title: 'From',
    sort: 'source',
    cell: r => [text(r.source) || '–', r.continuous ? el('span', { class: 'dim' }, ' continuous') : ''],
  },
  { title: 'To', sort: 'target', cell: r => text(r.target) || '–' },
  { title: 'State', sort: 'state', cell: r => [badge(r.state), trouble(r.error)] },
  { title: 'Written', sort: 'written', cell: r => count(r.written), number: true },
  { title: 'Pending', sort: 'pending', cell: r => known(r.pending, count), number: true },
  {
    title: 'Refused',
    sort: 'failed',
    cell: r => el('span', { class: r.failed ? 'bad' : 'dim' }, count(r.failed)),
    number: true,
  },
  { title: 'Errors in a row', sort: 'errors', cell: r => count(r.errors), number: true, extra: true },
  { title: 'Node', sort: 'node', cell: r => (r.node ? node(r.node) : '') },
  {
    title: 'Asked for by',
    sort: 'document',
    cell: r =>
      r.document
        ? link(['databases', r.database, 'doc', r.document], text(r.document))
        : el('span', { class: 'dim' }, `${text(r.user) || 'a request'}`),
  },
  { title: 'Since', sort: 'changed', cell: r => time(r.changed) },
];

/** Whether a statement is only known in part, which could do something else. Nodes of version 0.2.0 do not say so. */
const cut = s => s.cut || text(s.statement).endsWith('…');

const sessionColumns = [
  { title: 'Session', sort: 'pid', cell: s => [text(s.pid), el('span', { class: 'dim' }, ` ${named(text(s.application))}`)] },
  { title: 'Node', sort: 'node', cell: s => node(s.node) },
  { title: 'User', sort: 'user', cell: s => named(text(s.user)) },
  { title: 'Database', sort: 'database', cell: s => (s.database === 'divan' ? 'divan' : database(s.database)) },
  { title: 'State', sort: 'state', cell: s => badge(s.state === 'active' ? 'running' : '', text(s.state)) },
  { title: 'Since', sort: 'began', cell: s => time(s.began || s.since) },
  {
    title: 'Statement',
    cell: s => [
      el('code', {}, text(s.statement)),
      cut(s) ? el('p', { class: 'dim' }, 'This is only its beginning: it cannot be opened in SQL.') : '',
      s.plan ? el('details', {}, el('summary', { class: 'dim' }, 'plan'), el('pre', {}, text(s.plan))) : '',
    ],
  },
  { title: 'Examined', sort: 'examined', cell: s => (s.examined ? count(s.examined) : ''), number: true },
  { title: 'Returned', sort: 'returned', cell: s => (s.returned ? count(s.returned) : ''), number: true },
  { title: 'Rows in all', sort: 'rows', cell: s => count(s.rows), number: true, extra: true },
  {
    title: 'Actions',
    cell: s => [
      s.statement && !cut(s) ? [link(['sql', s.database], 'Open in SQL', { q: s.statement }), ' '] : '',
      s.state === 'active'
        ? button(
            'Cancel',
            `The statement of session ${s.pid} on ${s.node} is cancelled: its client gets error 57014.`,
            { do: 'cancel', node: s.node, pid: s.pid },
            { go: 'Cancel the statement', stay: 'Keep it running' },
          )
        : '',
      ' ',
      button(
        'End',
        `Session ${s.pid} of ${s.user} on ${s.node} is ended: its client gets error 57P01.`,
        { do: 'terminate', node: s.node, pid: s.pid },
        { go: 'End the session' },
      ),
    ],
  },
];

const view = (name, caption, columns, empty) => (place, say) =>
  list(place, name, caption, columns, none(empty), say);

export const feeds = view(
  'shards',
  'Changes shards',
  shardColumns,
  'No one listens to a changes feed. Try: curl -N "…/orders/_changes?feed=continuous"',
);
export const indexes = view(
  'indexes',
  'Indexes',
  indexColumns,
  'There is no view. A view is a map function in a design document; asking for it builds its index.',
);
export const replications = view(
  'replications',
  'Replications',
  replicationColumns,
  'There is no replication. A document in _replicator with source and target starts one that outlives restarts.',
);
export const jobs = view('jobs', 'Jobs', jobColumns, 'The queue is empty: nothing waits to be built or compacted.');
export const sessions = (place, say) => {
  const none = p => el('p', { class: 'none' }, 'No session is open.', p.sql ? ` Try: ${psql(p.sql)} -d orders` : '');
  const ends = [
    list(place, 'sessions', 'SQL sessions', sessionColumns, none, say),
    eventsOf(place, 'Slow statements', 'slow_statement', p => [
      'No statement has taken longer than two seconds',
      p.since ? [' since ', el('span', { title: text(p.since) }, new Date(p.since).toLocaleString())] : '',
      '. Nodes keep this in memory.',
    ]),
  ];
  return () => ends.forEach(end => end());
};
