// What nodes say about their store and their JavaScript, and the settings in force.
import { el, none, dim, bar, section, text, time, known, count, bytes, measure, link, duration, badge, redraw }
  from './dom.js';
import { follow } from './source.js';
import { table, list } from './table.js';
import { plotsOf, range } from './plots.js';
import { button } from './actions.js';

const absent = s => (s.absent || []).map(a => el('p', { class: 'warn' }, `without ${text(a.node)}: ${text(a.reason)}`));
const ofNode = { title: 'Node', cell: s => link(['nodes', s.node], text(s.node)) };
const ms = v => measure(v, 'ms');

/** A view of something that each node says, with plots above. */
const ofNodes = (name, series, show) => (place, say) => {
  const tiles = el('div', { class: 'tiles wide' }),
    body = el('div');
  const running = plotsOf([[tiles, series]]);
  place.append(bar(range(running.again)), tiles, body);
  const stop = follow(
    name,
    {},
    s => {
      redraw(body, absent(s), show(s.nodes, s));
    },
    say,
  );
  return () => {
    running.stop();
    stop();
  };
};

/** What FoundationDB says about itself. @param {import('./types.js').StoreCluster} c */
const foundation = c => {
  const rows = [
    [
      'State',
      c.available
        ? badge(c.health === 'healthy' ? 'ok' : 'degraded', text(c.description || c.health || 'it answers'))
        : badge('failed', 'the database is not available'),
    ],
    [
      'Machines',
      `${count(c.machines)} with ${count(c.processes)} processes, ` +
        `${count(c.reachable)} of ${count(c.coordinators)} coordinators reached`,
    ],
    ['Redundancy', [text(c.redundancy), dim(` engine ${text(c.engine)}`)]],
    [
      'May fail',
      `${known(c.spare_data, count)} without loss of data, ${known(c.spare_access, count)} without loss of access`,
    ],
    [
      'Size',
      `${known(c.data, bytes)} in ${known(c.disk, bytes)} of files, ${known(c.free, bytes)} left on the fullest server`,
    ],
    ['Moving between servers', known(c.moving, bytes)],
    ['Latency', `start ${known(c.start, ms)}, read ${known(c.read, ms)}, commit ${known(c.commit, ms)}`],
    [
      'Transactions',
      `${known(c.started, v => measure(v, '/s'))} started, ${known(c.committed, v => measure(v, '/s'))} committed, ` +
        `${known(c.conflicted, v => measure(v, '/s'))} in conflict`,
    ],
    ['Limited by', [text(c.limit), c.lag ? el('span', { class: 'warn' }, ` ${duration(c.lag)} behind`) : '']],
    ...(c.messages || []).map(m => ['It says', el('span', { class: 'warn' }, text(m))]),
  ].filter(([, v]) => v !== '–');
  return section(
    'FoundationDB',
    table('FoundationDB', [{ title: 'What', cell: r => r[0] }, { title: 'How it is', cell: r => r[1] }], rows),
    el('p', { class: 'dim' }, 'as of ', time(c.at), '; more with fdbcli --exec "status details"'),
  );
};

/**
 * The databases that wait for compaction. Nodes share the store, and each knows of some: a database is listed once, with
 * most of its revisions that a node knows.
 * @param {import('./types.js').Storage[]} nodes
 */
const waiting = nodes => {
  const known = new Map();
  for (const d of nodes.flatMap(s => s.compaction.waiting)) {
    const before = known.get(d.database) || d;
    known.set(d.database, { ...(d.bodies > before.bodies ? d : before), asked: d.asked || before.asked });
  }
  return [...known.values()].sort((a, b) => b.bodies - a.bodies);
};

const toCompact = rows =>
  table(
    'Databases to compact',
    [
      { title: 'Database', cell: d => link(['databases', d.database], text(d.database)) },
      { title: 'Revisions', cell: d => count(d.bodies), number: true },
      { title: 'Size', cell: d => bytes(d.bytes), number: true },
      { title: 'Oldest', cell: d => duration(d.oldest), number: true },
      {
        title: 'Actions',
        cell: d =>
          d.asked
            ? dim('asked for')
            : button('Compact', `Superseded revisions of ${d.database} are removed.`, {
                do: 'compact',
                database: d.database,
              }),
      },
    ],
    rows,
  );

export const storage = ofNodes(
  'storage',
  ['commit_p50', 'commit_p99', 'commits', 'conflicts', 'retries', 'disk_free'],
  (nodes, all) => [
    all.cluster ? foundation(all.cluster) : '',
    all.cluster_unknown ? el('p', { class: 'warn' }, `FoundationDB says nothing: ${text(all.cluster_unknown)}`) : '',
    section(
      'Stores',
      table(
        'Stores',
        [
          ofNode,
          { title: 'Engine', cell: s => text(s.engine) },
          {
            title: 'State',
            cell: s =>
              s.error
                ? badge('failed', text(s.error))
                : s.reasons.length
                  ? s.reasons.map(r => el('div', {}, badge('degraded', text(r))))
                  : badge('ok', 'answers'),
          },
          { title: 'Commit, median', cell: s => known(s.p50, ms), number: true },
          { title: '99 of 100', cell: s => known(s.p99, ms), number: true },
          { title: 'Commits', cell: s => known(s.commits, count), number: true, extra: true },
          { title: 'Conflicts', cell: s => known(s.conflicts, count), number: true },
          { title: 'Tried again', cell: s => known(s.retries, count), number: true, extra: true },
          { title: 'Size', cell: s => known(s.size, bytes), number: true },
          { title: 'Disk left', cell: s => known(s.free, bytes), number: true },
        ],
        nodes,
      ),
    ),
    section(
      'Compaction',
      table(
        'Compaction',
        [
          ofNode,
          {
            title: 'Runs',
            cell: s => [s.compaction.auto ? 'by itself' : 'when asked', dim(` · ${count(s.compaction.runs)} runs`)],
          },
          {
            title: 'Removed',
            cell: s => `${count(s.compaction.bodies)} revisions, ${bytes(s.compaction.bytes)}`,
            number: true,
          },
          { title: 'Known to wait', cell: s => `${count(s.compaction.queue)} revisions`, number: true },
          {
            title: 'Last failure',
            cell: s =>
              s.compaction.last_error
                ? [
                    el('span', { class: 'bad' }, text(s.compaction.last_error)),
                    ' ',
                    s.compaction.last_at ? time(s.compaction.last_at) : '',
                  ]
                : '',
          },
        ],
        nodes,
      ),
      waiting(nodes).length ? toCompact(waiting(nodes)) : '',
    ),
  ],
);

const limits = { time: 'too long', memory: 'too much memory', stack: 'too deep', rows: 'too many rows' };

export const scripts = ofNodes('scripts', ['script_seconds', 'script_waiting', 'indexed_docs', 'index_rows'], nodes => [
  section(
    'JavaScript',
    table(
      'JavaScript',
      [
        ofNode,
        {
          title: 'Runtimes',
          cell: s => [`${count(s.runtimes)} of ${count(s.most)}`, dim(`, ${count(s.idle)} idle`)],
          number: true,
        },
        { title: 'Running', cell: s => count(s.running), number: true },
        { title: 'Paused', cell: s => count(s.paused), number: true, extra: true },
        { title: 'Waiting', cell: s => count(s.waiting), number: true },
        { title: 'Processor time', cell: s => duration(s.seconds), number: true },
        {
          title: 'Ended at a limit',
          cell: s => {
            const l = Object.entries(s.limits).filter(([, n]) => n);
            return l.length
              ? el('span', { class: 'warn' }, l.map(([k, n]) => `${limits[k] || text(k)} ${count(n)}`).join(', '))
              : 'none';
          },
        },
        { title: 'Waited too long', cell: s => count(s.refused), number: true },
      ],
      nodes,
    ),
  ),
  ...nodes
    .filter(s => s.databases.length)
    .map(s =>
      section(
        `Databases that use most on ${text(s.node)}`,
        table(
          'Databases',
          [
            { title: 'Database', cell: d => link(['databases', d.database], text(d.database)) },
            { title: 'Processor time, lately', cell: d => duration(d.seconds), number: true },
            { title: 'Calls waiting', cell: d => count(d.waiting), number: true },
          ],
          s.databases,
        ),
      ),
    ),
]);

export const settings = (place, say) =>
  list(
    place,
    'settings',
    'Settings',
    [
      { title: 'Setting', sort: 'name', cell: s => el('code', {}, text(s.name)) },
      {
        title: 'Value',
        sort: 'value',
        cell: s => (s.value === '' ? dim('not set') : el('code', {}, text(s.value))),
      },
      {
        title: 'Default',
        cell: s =>
          s.changed ? el('code', { class: 'dim' }, text(s.default)) : dim('the same'),
      },
      { title: 'Nodes', cell: s => (s.nodes || []).map(text).join(', ') },
    ],
    () => none('There are no settings.'),
    say,
    { asks: true },
  );
