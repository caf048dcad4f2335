// Views that are one list each.
import { el, text, time, count, bytes, link, badge, duration } from './dom.js';
import { list } from './table.js';
import { button } from './actions.js';

const none = what => () => el('p', { class: 'none' }, what);
const database = name => link(['databases', name], text(name));
const trouble = s => (s ? el('span', { class: 'bad' }, ` ${text(s)}`) : '');
const searched = query => new URLSearchParams(query).get('search') || '';

export const shardColumns = [
  {
    title: 'Database',
    sort: 'database',
    cell: s => [database(s.database), el('span', { class: 'dim' }, ` shard ${text(s.shard)}`)],
  },
  { title: 'Actor on', sort: 'owner', cell: s => text(s.owner) },
  { title: 'Listened to on', sort: 'node', cell: s => text(s.node), extra: true },
  { title: 'State', sort: 'state', cell: s => [text(s.state), trouble(s.error)] },
  { title: 'Listeners', sort: 'listeners', cell: s => count(s.listeners), number: true },
  { title: 'Nodes woken', cell: s => count(s.followers), number: true, extra: true },
  { title: 'Wakes', sort: 'wakes', cell: s => count(s.wakes), number: true },
];

export const indexColumns = [
  {
    title: 'Index',
    sort: 'database',
    cell: x => [
      database(x.database),
      ` ${text(x.design)}`,
      el('span', { class: 'dim' }, ` ${(x.views || []).join(', ')}`),
    ],
  },
  {
    title: 'State',
    sort: 'lag',
    cell: x =>
      x.task
        ? [
            el('progress', { max: 100, value: x.task.progress, 'aria-label': 'progress' }),
            ` ${x.task.progress} %`,
            x.task.left === undefined ? '' : `, ${duration(x.task.left)} to go`,
          ]
        : x.current
          ? badge('ok', 'up to date')
          : badge('pending', x.building ? 'building' : `${duration(x.lag)} behind`),
  },
  { title: 'Rows', sort: 'rows', cell: x => count(x.rows), number: true },
  { title: 'Size', sort: 'bytes', cell: x => bytes(x.bytes), number: true },
  {
    title: 'Skipped documents',
    sort: 'errors',
    cell: x => (x.errors ? el('span', { class: 'bad', title: text(x.skipped) }, count(x.errors)) : '0'),
    number: true,
  },
  { title: 'Used on', sort: 'node', cell: x => text(x.node), extra: true },
  { title: '', cell: x => button('Rebuild', `All ${count(x.rows)} rows of ${x.design} in ${x.database} are removed and built again. Requests for its views wait until then.`,
    { do: 'rebuild_index', database: x.database, design: x.design }) },
];

const jobColumns = [
  { title: 'Job', sort: 'id', cell: j => [el('span', { class: 'dim' }, `${text(j.type)} `), text(j.id)] },
  { title: 'State', sort: 'state', cell: j => [badge(j.state), trouble(j.error)] },
  { title: 'Worker', sort: 'worker', cell: j => text(j.worker) },
  {
    title: 'Failures',
    sort: 'failures',
    cell: j => el('span', { class: j.failures ? 'bad' : 'dim' }, count(j.failures)),
    number: true,
  },
  { title: 'Token', cell: j => text(j.token), number: true, extra: true },
  { title: 'Updated', sort: 'updated', cell: j => time(j.updated) },
  {
    title: '',
    cell: j => [
      j.state === 'pending'
        ? button('Retry', `Job ${j.type} ${j.id} starts now.`, { do: 'retry_job', type: j.type, id: j.id })
        : '',
      ' ',
      button('Drop', `Job ${j.type} ${j.id} is removed. What asked for it may ask again.`, {
        do: 'drop_job',
        type: j.type,
        id: j.id,
      }),
    ],
  },
];

const facts = a =>
  Object.entries(a.facts || {})
    .filter(([k, v]) => typeof v !== 'object' && v !== '' && k !== 'error')
    .map(([k, v]) => `${k.replaceAll('_', ' ')} ${count(v)}`)
    .join(' · ');

const actorColumns = [
  { title: 'Actor', sort: 'id', cell: a => text(a.id) },
  { title: 'Node', sort: 'node', cell: a => text(a.node) },
  {
    title: 'State',
    sort: 'state',
    cell: a => badge(a.recent ? 'failed' : a.state === 'restarting' ? 'restarting' : '', text(a.state)),
  },
  { title: 'Mailbox', sort: 'mailbox', cell: a => count(a.mailbox), number: true },
  {
    title: 'Restarts',
    sort: 'restarts',
    cell: a => el('span', { class: a.restarts ? 'bad' : 'dim' }, count(a.restarts)),
    number: true,
  },
  {
    title: 'Last failure',
    sort: 'failed',
    cell: a =>
      a.last_failure ? [el('span', { class: 'bad' }, text(a.last_failure)), ' ', time(a.last_failure_at)] : '',
  },
  { title: 'Details', cell: a => el('span', { class: 'dim' }, facts(a)), extra: true },
  { title: '', cell: a => button('Restart', `Actor ${a.id} on ${a.node} and all actors below it begin anew. Nothing is lost.`, { do: 'restart_actor', node: a.node, id: a.id }) },
];

const sessionColumns = [
  { title: 'Session', sort: 'pid', cell: s => [text(s.pid), el('span', { class: 'dim' }, ` ${text(s.application)}`)] },
  { title: 'Node', sort: 'node', cell: s => text(s.node) },
  { title: 'User', sort: 'user', cell: s => text(s.user) },
  { title: 'Database', sort: 'database', cell: s => text(s.database) },
  { title: 'State', sort: 'state', cell: s => badge(s.state === 'active' ? 'running' : '', text(s.state)) },
  { title: 'Since', sort: 'began', cell: s => time(s.began || s.since) },
  { title: 'Statement', cell: s => el('code', {}, text(s.statement)), extra: true },
  { title: 'Rows', sort: 'rows', cell: s => count(s.rows), number: true },
  {
    title: '',
    cell: s => [
      s.state === 'active'
        ? button(
            'Cancel',
            `The statement of session ${s.pid} on ${s.node} is cancelled: its client gets error 57014.`,
            { do: 'cancel', node: s.node, pid: s.pid },
          )
        : '',
      ' ',
      button('End', `Session ${s.pid} of ${s.user} on ${s.node} is ended: its client gets error 57P01.`, {
        do: 'terminate',
        node: s.node,
        pid: s.pid,
      }),
    ],
  },
];

const view = (name, caption, columns, empty) => (place, say, rest, query) =>
  list(place, name, caption, columns, none(empty), say, searched(query));

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
  'No view was asked for recently. A view is a map function in a design document; asking for it builds its index.',
);
export const jobs = view('jobs', 'Jobs', jobColumns, 'The queue is empty: nothing waits to be built or compacted.');
export const actors = view('actors', 'Actors', actorColumns, 'No actor runs.');
export const sessions = view(
  'sessions',
  'SQL sessions',
  sessionColumns,
  'No session is open. Try: psql -h … -p 5433 -d orders',
);
