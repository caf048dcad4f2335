// Plots of all series over a range of time, and of some series in other views.
import { el, select, dim, bar, section, text } from './dom.js';
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

/** Reads plots, and only the last values if the others are known. Those before may have come late, or may grow. */
const update = async (params, known) => {
  const count = known && known.plots[0].all.length,
    p = await read('plots', { ...params, from: known && known.start + (count - 3) * known.step });
  if (!known || p.plots[0].all.length === count) return p;
  const kept = (p.start - known.start) / p.step,
    nodes = v => JSON.stringify([v.step, v.plots.map(s => s.nodes.map(n => n.node))]);
  // Of a node that is back all is to be read, and after a clock was set too.
  if (nodes(p) !== nodes(known) || kept < 0 || kept > count || kept + p.plots[0].all.length < count)
    return read('plots', params);
  const whole = (before, values) => [...before.slice(0, kept), ...values].slice(-count);
  return {
    ...p,
    start: p.start + (p.plots[0].all.length - count) * p.step,
    plots: p.plots.map((s, i) => ({
      ...s,
      all: whole(known.plots[i].all, s.all),
      nodes: s.nodes.map((n, k) => ({ ...n, values: whole(known.plots[i].nodes[k].values, n.values) })),
    })),
  };
};

/**
 * Keeps plots in places up to date until it is stopped. parts are pairs of a place and the names of its series. node
 * limits them to one node.
 */
export const plotsOf = (parts, node) => {
  told();
  let turn = 0, // of requests: the answer of one before another is not shown
    known = null,
    cancel = () => {};
  const draw = (place, series) => {
    if (place.querySelector('svg:hover, svg:focus')) return; // what one looks at stands still
    const none = known.plots[0].all.map(() => null),
      one = s => ({ ...s, nodes: [], all: s.nodes.find(n => n.node === node)?.values || none }),
      all = known.plots.filter(s => series.includes(s.name)),
      of = node === undefined ? all : all.map(one);
    const names = [...new Set(of.flatMap(s => s.nodes.map(n => n.node)))];
    const keys = names.map((n, i) => el('span', { class: `key ${colour(i)}` }, text(n)));
    place.replaceChildren(
      names.length > 1 ? el('p', { class: 'keys bar' }, el('span', { class: 'key s0' }, 'all'), keys) : '',
      ...of.map(s => plot(s, known.start, known.step, names)),
    );
  };
  const tick = async () => {
    const mine = ++turn;
    cancel();
    try {
      const p = await update({ series: parts.flatMap(([, series]) => series).join(), span }, known);
      if (mine !== turn) return;
      known = p;
      for (const [place, series] of parts) draw(place, series);
    } catch {
      /* the view says that the node does not answer */
    }
    if (mine !== turn) return;
    cancel = (ended() ? onReturn : later)(tick, document.hidden ? 60000 : 5000);
  };
  tick();
  return {
    stop: () => {
      turn++;
      cancel();
    },
    again: () => {
      known = null;
      tick();
    },
  };
};

/** A choice of the range of time. */
export const range = change => {
  const noted = () => note({ span: span === 900 ? '' : span });
  told();
  noted();
  const spanned = ([v, n]) => [v, `last ${n}`],
    choice = select('Range of time', Object.entries(spans).map(spanned), String(span), () => {
      span = Number(choice.value);
      noted();
      change();
    });
  return choice;
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
  const parts = groups.map(([title, series]) => [el('div', { class: 'tiles wide' }), series, title]);
  const running = plotsOf(parts);
  place.append(
    bar(el('h2', {}, 'Plots'), range(running.again), dim('Thick: all nodes. Thin: each of them.')),
    ...parts.map(([tiles, , title]) => section(title, tiles)),
  );
  return running.stop;
};
