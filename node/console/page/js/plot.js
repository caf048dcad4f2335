// Values over time, drawn as SVG.
import { el, measure, clock, shown, speak } from './dom.js';

const ns = 'http://www.w3.org/2000/svg';
export const svg = (name, props) => {
  const e = document.createElementNS(ns, name);
  for (const [k, v] of Object.entries(props)) e.setAttribute(k, v);
  return e;
};

const w = 100,
  h = 30; // of the view box, which is stretched

/** The path of values below top, and of the area below it. null is a gap. */
const trace = (values, top) => {
  const x = i => (values.length < 2 ? 0 : (i * w) / (values.length - 1)),
    y = v => h - (v / top) * (h - 2) - 1;
  let line = '',
    area = '',
    from = -1;
  const close = i => {
    if (from >= 0) area += `L${x(i).toFixed(1)} ${h}L${x(from).toFixed(1)} ${h}Z`;
    from = -1;
  };
  values.forEach((v, i) => {
    if (v === null) {
      close(i - 1);
      return;
    }
    const at = `${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
    line += (from < 0 ? 'M' : 'L') + at;
    area += (from < 0 ? 'M' : 'L') + at;
    if (from < 0) from = i;
  });
  close(values.length - 1);
  return { line: line || 'M0 0', area: area || 'M0 0' };
};

/** A small plot of values; null is a gap. label describes it to screen readers. */
const sparkline = (values, label) => {
  const t = trace(values, Math.max(1e-9, ...values.filter(v => v !== null)));
  const e = svg('svg', { viewBox: `0 0 ${w} ${h}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label });
  e.append(svg('path', { class: 'area', d: t.area }), svg('path', { class: 'line', d: t.line }));
  return e;
};

const heights = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * A small plot in a cell of a table, or nothing.
 * @param {import('./types.js').Line} line
 */
export const spark = (line, what, unit) => {
  if (!line || line.top === 0) return '';
  const values = [...line.heights].map(c => (c === '.' ? null : heights.indexOf(c)));
  const e = sparkline(values, `${what} in the last 15 minutes, at most ${measure(line.top, unit)}`);
  e.classList.add('spark');
  return e;
};

/** The class with the colour of a node. The first one is that of the cluster. */
export const colour = i => `s${1 + (i % 5)}`;

const fresh = 2; // steps: a value before is not that of now, and nodes have not measured in the last one yet

const hovered = new Set(); // of the plots on the page: they show the same moment

/** Says since when a sum has nodes that began later than others: what a node measured is lost when it ends. */
const joined = (nodes, at) => {
  const first = nodes.map(n => n.values.findIndex(v => v !== null));
  const begin = Math.min(...first.filter(i => i >= 0));
  const late = nodes.flatMap((n, k) => (first[k] > begin + fresh ? [`${n.node} since ${at(first[k])}`] : []));
  return late.length ? `with ${late.join(', ')}` : '';
};

/**
 * A plot of one series of all nodes: thin lines for nodes, a thick one for the cluster. It shows the values at the time
 * below the pointer, or that the arrow keys have moved to, as all plots on the page do.
 * @param {import('./types.js').Plot} p
 * @param {string[]} names of nodes, in the order of their colours
 */
export const plot = (p, start, step, names) => {
  const lists = p.nodes.length > 1 ? [...p.nodes.map(n => n.values), p.all] : [p.all];
  const top = Math.max(1e-9, ...lists.flat().filter(v => v !== null)),
    count = p.all.length;
  const e = svg('svg', {
    viewBox: `0 0 ${w} ${h}`,
    preserveAspectRatio: 'none',
    role: 'img',
    tabindex: 0,
    'aria-label': `${p.title}; arrow keys show values`,
  });
  if (p.nodes.length > 1)
    for (const n of p.nodes)
      e.append(svg('path', { class: `thin ${colour(names.indexOf(n.node))}`, d: trace(n.values, top).line }));
  const all = trace(p.all, top);
  e.append(svg('path', { class: 'area', d: all.area }), svg('path', { class: 'line', d: all.line }));
  const mark = svg('line', { class: 'hover', y1: 0, y2: h, x1: -1, x2: -1 });
  e.append(mark);
  const newest = p.all.findLastIndex(v => v !== null),
    last = count - 1 - newest <= fresh ? newest : -1,
    value = el('b'),
    said = el('span', { class: 'dim' });
  const second = i => clock((start + i * step) * 1000).slice(0, 8),
    before = newest === last ? '' : `last ${measure(p.all[newest], p.unit)} at ${second(newest)}`,
    most = newest < 0 ? '' : `at most ${measure(top > 1e-9 ? top : 0, p.unit)}`,
    note = [most, before, p.how === 'sum' ? joined(p.nodes, second) : ''].filter(Boolean).join(' · ');
  const show = i => {
    const at = i === null ? last : i;
    mark.setAttribute('x1', i === null ? -1 : (i * w) / Math.max(1, count - 1));
    mark.setAttribute('x2', mark.getAttribute('x1'));
    value.textContent = measure(at < 0 ? null : p.all[at], p.unit);
    const each =
      i !== null && p.nodes.length > 1 ? p.nodes.map(n => `${n.node} ${measure(n.values[i], p.unit)}`) : [];
    said.textContent = shown(i === null ? note : [clock((start + i * step) * 1000), ...each].join(' · '));
  };
  show(null);
  const tell = i => {
    for (const other of hovered)
      if (other.e.isConnected) other.show(i === null || i < 0 || i >= other.count ? null : i);
      else hovered.delete(other);
  };
  hovered.add({ e, show, count });
  let at = count - 1;
  e.addEventListener('pointermove', m => {
    const b = e.getBoundingClientRect();
    at = Math.round(((m.clientX - b.left) / b.width) * (count - 1));
    tell(at);
  });
  e.addEventListener('pointerleave', () => tell(null));
  e.addEventListener('blur', () => tell(null));
  e.addEventListener('keydown', k => {
    if (k.key !== 'ArrowLeft' && k.key !== 'ArrowRight') return;
    k.preventDefault();
    tell((at = Math.max(0, Math.min(count - 1, at + (k.key === 'ArrowLeft' ? -1 : 1)))));
    speak(`${value.textContent} · ${said.textContent}`);
  });
  return el('div', { class: 'tile plot' }, el('span', {}, p.title), value, e, said);
};
