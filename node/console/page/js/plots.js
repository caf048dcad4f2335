// Plots of all series over a range of time, and of some series in other views.
import { el, text } from './dom.js';
import { read, ended, later, onReturn } from './source.js';
import { colour, plot } from './plot.js';
import { given, note } from './address.js';

const spans = { 900: '15 minutes', 3600: 'hour', 21600: '6 hours', 86400: 'day' };
let span = 900; // the same on all views; another one is in the address
/** Takes over what the address says. */
const told = () => {
  const s = given().get('span');
  if (Object.hasOwn(spans, s)) span = Number(s);
};

/** Keeps plots of series in a place up to date until the returned function is called. node limits them to one node. */
export const plotsOf = (place, series, node) => {
  told();
  let stopped = false,
    cancel = () => {};
  const tick = async () => {
    cancel();
    try {
      const p = await read('plots', { series: series.join(','), span });
      if (stopped) return;
      if (!place.querySelector('svg:hover, svg:focus')) {
        // what one looks at stands still
        const of = p.plots.map(s =>
          node === undefined
            ? s
            : {
                ...s,
                nodes: [],
                all: (s.nodes.find(n => n.node === node) || { values: s.all.map(() => null) }).values,
              },
        );
        const names = [...new Set(of.flatMap(s => s.nodes.map(n => n.node)))];
        place.replaceChildren(
          ...(names.length > 1
            ? [
                el(
                  'p',
                  { class: 'keys bar' },
                  el('span', { class: 'key s0' }, 'all'),
                  names.map((n, i) => el('span', { class: `key ${colour(i)}` }, text(n))),
                ),
              ]
            : []),
          ...of.map(s => plot(s, p.start, p.step, names)),
        );
      }
    } catch {
      /* the view says that the node does not answer */
    }
    cancel();
    if (!stopped) cancel = (ended() ? onReturn : later)(tick, document.hidden ? 60000 : 5000);
  };
  tick();
  return {
    stop: () => {
      stopped = true;
      cancel();
    },
    again: tick,
  };
};

/** A choice of the range of time. */
export const range = change => {
  const noted = () => note({ span: span === 900 ? '' : span });
  told();
  noted();
  return el(
    'select',
    {
      'aria-label': 'Range of time',
      change: e => {
        span = Number(e.target.value);
        noted();
        change();
      },
    },
    Object.entries(spans).map(([v, n]) => el('option', { value: v, selected: Number(v) === span }, `last ${n}`)),
  );
};

const groups = [
  ['Documents', ['docs_written', 'docs_refused', 'docs_read', 'feed_rows', 'listeners', 'wakes']],
  ['Storage', ['commits', 'commit_p50', 'commit_p99', 'conflicts', 'retries', 'disk_free']],
  [
    'HTTP and SQL',
    ['http_done', 'http_refused', 'http_failed', 'connections', 'bodies', 'statements', 'sessions', 'sql_memory'],
  ],
  ['Indexes and JavaScript', ['indexed_docs', 'index_rows', 'index_lag', 'tasks', 'script_seconds', 'script_waiting']],
  ['Actors', ['actors', 'mailbox', 'restarts', 'dead_letters']],
  ['Processes', ['cpu', 'resident', 'heap', 'goroutines']],
];

export const plots = place => {
  const running = [];
  place.append(
    el(
      'div',
      { class: 'bar' },
      el('h2', {}, 'Plots'),
      range(() => running.forEach(r => r.again())),
      el('span', { class: 'dim' }, 'Thick: all nodes. Thin: each of them.'),
    ),
  );
  for (const [title, series] of groups) {
    const tiles = el('div', { class: 'tiles wide' });
    place.append(el('section', { 'aria-label': title }, el('h2', {}, title), tiles));
    running.push(plotsOf(tiles, series));
  }
  return () => running.forEach(r => r.stop());
};
