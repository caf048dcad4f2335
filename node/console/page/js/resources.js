// What nodes say about their store and their JavaScript, and the settings in force.
import {
  el, none, dim, bar, section, text, time, known, count, bytes, measure, duration, badge, redraw, bad, toDatabase,
  toNode, warn, endOf,
} from './dom.js';
import { follow } from './source.js';
import { table, list, col, num } from './table.js';
import { plotsOf, range } from './plots.js';
import { button } from './actions.js';

const absent = s => (s.absent || []).map(a => warn(`without ${a.node}: ${a.reason}`));
const ofNode = { title: 'Node', cell: s => toNode(s.node) };
const ms = v => measure(v, 'ms'),
  rate = v => measure(v, '/s');

/** A view of something that each node says, with plots above. */
const ofNodes = (name, series, show) => (place, say) => {
  const tiles = el('div', { class: 'tiles wide' }),
    body = el('div');
  const running = plotsOf([[tiles, series]]);
  place.append(bar(range(running.again)), tiles, body);
  return endOf([running.stop, follow(name, {}, s => redraw(body, absent(s), show(s.nodes, s)), say)]);
};

/** What FoundationDB says about itself. @param {import('./types.js').StoreCluster} c */
const foundation = c => {
  const rows = [
    ['State',
      c.available
        ? badge(c.health === 'healthy' ? 'ok' : 'degraded', text(c.description || c.health || 'it answers'))
        : badge('failed', 'the database is not available'),
    ],
    ['Machines',
      `${count(c.machines)} with ${count(c.processes)} processes, ` +
        `${count(c.reachable)} of ${count(c.coordinators)} coordinators reached`,
    ],
    ['Redundancy', [c.redundancy, dim(` engine ${c.engine}`)]],
    ['May fail',
      `${known(c.spare_data, count)} without loss of data, ${known(c.spare_access, count)} without loss of access`,
    ],
    ['Size',
      `${known(c.data, bytes)} in ${known(c.disk, bytes)} of files, ${known(c.free, bytes)} left on the fullest server`,
    ],
    ['Moving between servers', known(c.moving, bytes)],
    ['Latency', `start ${known(c.start, ms)}, read ${known(c.read, ms)}, commit ${known(c.commit, ms)}`],
    ['Transactions',
      `${known(c.started, rate)} started, ${known(c.committed, rate)} committed, ` +
        `${known(c.conflicted, rate)} in conflict`,
    ],
    ['Limited by', [c.limit, c.lag ? el('span', { class: 'warn' }, ` ${duration(c.lag)} behind`) : '']],
    ...(c.messages || []).map(m => ['It says', el('span', { class: 'warn' }, text(m))]),
  ].filter(([, v]) => v !== '–');
  return section('FoundationDB',
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
  table('Databases to compact',
    [
      col('Database', d => toDatabase(d.database)),
      num('Revisions', d => count(d.bodies)),
      num('Size', d => bytes(d.bytes)),
      num('Oldest', d => duration(d.oldest)),
      col('Actions',
        d =>
          d.asked
            ? dim('asked for')
            : button('Compact', `Superseded revisions of ${d.database} are removed.`, {
                do: 'compact',
                database: d.database,
              }),
      ),
    ],
    rows,
  );

export const storage = ofNodes(
  'storage',
  ['commit_p50', 'commit_p99', 'commits', 'conflicts', 'retries', 'disk_free'],
  (nodes, all) => [
    all.cluster ? foundation(all.cluster) : '',
    all.cluster_unknown ? warn(`FoundationDB says nothing: ${all.cluster_unknown}`) : '',
    section('Stores',
      table('Stores',
        [
          ofNode,
          col('Engine', s => s.engine),
          col('State',
            s =>
              s.error
                ? badge('failed', s.error)
                : s.reasons.length
                  ? s.reasons.map(r => el('div', {}, badge('degraded', text(r))))
                  : badge('ok', 'answers'),
          ),
          num('Commit, median', s => known(s.p50, ms)),
          num('99 of 100', s => known(s.p99, ms)),
          num('Commits', s => known(s.commits, count), '', true),
          num('Conflicts', s => known(s.conflicts, count)),
          num('Tried again', s => known(s.retries, count), '', true),
          num('Size', s => known(s.size, bytes)),
          num('Disk left', s => known(s.free, bytes)),
        ],
        nodes,
      ),
    ),
    section('Compaction',
      table('Compaction',
        [
          ofNode,
          col('Runs',
            s => [s.compaction.auto ? 'by itself' : 'when asked', dim(` · ${count(s.compaction.runs)} runs`)],
          ),
          num('Removed', s => `${count(s.compaction.bodies)} revisions, ${bytes(s.compaction.bytes)}`),
          num('Known to wait', s => `${count(s.compaction.queue)} revisions`),
          col('Last failure',
            s =>
              s.compaction.last_error
                ? [
                    bad(s.compaction.last_error),
                    ' ',
                    s.compaction.last_at ? time(s.compaction.last_at) : '',
                  ]
                : '',
          ),
        ],
        nodes,
      ),
      waiting(nodes).length ? toCompact(waiting(nodes)) : '',
    ),
  ],
);

const limits = { time: 'too long', memory: 'too much memory', stack: 'too deep', rows: 'too many rows' };

export const scripts = ofNodes('scripts', ['script_seconds', 'script_waiting', 'indexed_docs', 'index_rows'], nodes => [
  section('JavaScript',
    table('JavaScript',
      [
        ofNode,
        num('Runtimes', s => [`${count(s.runtimes)} of ${count(s.most)}`, dim(`, ${count(s.idle)} idle`)]),
        num('Running', s => count(s.running)),
        num('Paused', s => count(s.paused), '', true),
        num('Waiting', s => count(s.waiting)),
        num('Processor time', s => duration(s.seconds)),
        col('Ended at a limit',
          s => {
            const l = Object.entries(s.limits).filter(([, n]) => n);
            return l.length
              ? el('span', { class: 'warn' }, l.map(([k, n]) => `${limits[k] || text(k)} ${count(n)}`).join(', '))
              : 'none';
          },
        ),
        num('Waited too long', s => count(s.refused)),
      ],
      nodes,
    ),
  ),
  ...nodes
    .filter(s => s.databases.length)
    .map(s =>
      section(`Databases that use most on ${s.node}`,
        table('Databases',
          [
            col('Database', d => toDatabase(d.database)),
            num('Processor time, lately', d => duration(d.seconds)),
            num('Calls waiting', d => count(d.waiting)),
          ],
          s.databases,
        ),
      ),
    ),
]);

export const settings = (place, say) =>
  list(place, 'settings', 'Settings',
    [
      col('Setting', s => el('code', {}, s.name), 'name'),
      col('Value', s => (s.value === '' ? dim('not set') : el('code', {}, s.value)), 'value'),
      col('Default', s => s.changed ? el('code', { class: 'dim' }, s.default) : dim('the same')),
      col('Nodes', s => (s.nodes || []).map(text).join(', ')),
    ],
    () => none('There are no settings.'),
    say,
    { asks: true },
  );
