// The nodes, or one of them.
import { el, section, text, time, clock, link, measure, badge, redraw } from './dom.js';
import { follow } from './source.js';
import { table } from './table.js';
import { nodeColumns } from './overview.js';
import { button } from './actions.js';
import { plotsOf, range } from './plots.js';

const fact = (name, value) =>
  value === '' || value === undefined
    ? null
    : el('tr', {}, el('th', { scope: 'row' }, name), el('td', { 'data-name': name }, el('span', {}, value)));

const units = {
  index_lag: 's',
  commit_p50: 'ms',
  commit_p99: 'ms',
  bodies: 'B',
  sql_memory: 'B',
  resident: 'B',
  heap: 'B',
  disk_free: 'B',
};
const rates = new Set([
  'docs_written',
  'docs_refused',
  'docs_read',
  'feed_rows',
  'indexed_docs',
  'index_rows',
  'commits',
  'conflicts',
  'retries',
  'http_done',
  'http_refused',
  'http_failed',
  'statements',
  'wakes',
  'restarts',
  'dead_letters',
]);

const one = n => [
  section(
    text(n.name),
    el(
      'table',
      { 'aria-label': 'Facts' },
      el(
        'tbody',
        {},
        fact('State', badge(n.given_up ? 'failed' : n.state, text(n.text))),
        fact('Started', n.started ? time(n.started) : ''),
        fact('Last answer', n.last_answer ? time(n.last_answer) : ''),
        fact('Version', text(n.version)),
        fact('Engine', text(n.engine)),
        fact('HTTP', text(n.http)),
        fact('SQL', text(n.sql)),
        fact('Gossip', text(n.gossip)),
        fact('Roles', (n.roles || []).join(', ')),
        fact('Clock', n.skew ? `${n.skew} s ahead` : ''),
        fact('Store', text(n.store)),
        fact('Log', n.log_until ? `${text(n.log_level)} until ${clock(n.log_until).slice(0, 8)}, by an operator` : ''),
      ),
    ),
    (n.reasons || []).length
      ? el(
          'ul',
          { class: 'attention' },
          n.reasons.map(r => el('li', { class: 'error' }, text(r))),
        )
      : '',
    el(
      'p',
      { class: 'bar' },
      link(['events'], 'events', { search: n.name }),
      link(['actors'], 'actors', { search: n.name }),
      link(['sessions'], 'sessions', { search: n.name }),
      n.state === 'gone'
        ? button('Forget', `${n.name} is removed from the lists of all nodes. If it comes back it is a member again.`, {
            do: 'forget',
            member: n.name,
          })
        : '',
      n.state === 'ok' || n.state === 'degraded'
        ? button('Log more', `${n.name} writes debug lines to its log for ten minutes.`, {
            do: 'log_level',
            level: 'debug',
            node: n.name,
          })
        : '',
      n.state === 'ok' || n.state === 'degraded'
        ? button(
            'Drain',
            `${n.name} gives its changes shards and jobs to other nodes, and /readyz says that it is not ready. ` +
              'It still answers, until it is restarted.',
            { do: 'drain', node: n.name },
          )
        : '',
    ),
  ),
  n.now
    ? section(
        'Now',
        el(
          'div',
          { class: 'tiles' },
          Object.keys(n.now)
            .sort()
            .map(name =>
              el(
                'div',
                { class: 'tile' },
                el('span', {}, name.replaceAll('_', ' ')),
                el('b', {}, measure(n.now[name], units[name] || (rates.has(name) ? '/s' : ''))),
              ),
            ),
        ),
      )
    : '',
];

/** The series with plots on the page of a node. */
const plotted = ['docs_written', 'docs_read', 'http_done', 'statements', 'commit_p99', 'cpu', 'resident', 'mailbox'];

export const nodes = (place, say, [name]) => {
  const body = el('div', {}),
    tiles = el('div', { class: 'tiles wide' });
  place.append(body);
  let running = { stop: () => {}, again: () => {} },
    plotting = false;
  /** Draws plots as soon as there is such a node. */
  const plotsBelow = () => {
    if (plotting) return;
    plotting = true;
    running = plotsOf(tiles, plotted, name);
    place.append(
      el(
        'div',
        { class: 'bar' },
        el('h2', {}, 'Plots'),
        range(() => running.again()),
      ),
      tiles,
    );
  };
  const stop = follow(
    'nodes',
    {},
    s => {
      const found = s.nodes.find(n => n.name === name);
      if (found) plotsBelow();
      redraw(
        body,
        ...(name === undefined
          ? [section('Nodes', table('Nodes', nodeColumns, s.nodes))]
          : found
            ? one(found)
            : [section(name, el('p', { class: 'none' }, 'There is no such node.'))]),
      );
    },
    say,
  );
  return () => {
    running.stop();
    stop();
  };
};
