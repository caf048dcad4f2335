// A chart of a result: one column across, numbers as bars or lines.
import { el, select, none, bar, named, shown, text, count } from './dom.js';
import { svg } from './plot.js';
import { isNumber } from './results.js';

const maxPoints = 500,
  longestLabel = 40,
  width = 900,
  height = 260,
  left = 64,
  bottom = 22;

const number = v => (v === null || v === '' || isNaN(Number(v)) ? null : Number(v));

/** Whether all values of a column that there are, are numbers. */
const numeric = (r, i) =>
  isNumber(r.columns[i].type) || (r.rows.length > 0 && r.rows.every(row => row[i] === null || number(row[i]) !== null));

/** A value at an axis over a range, with as many digits as tell it from the others there. */
const tick = (v, range) =>
  range < 1e-9 || range >= 1e15
    ? String(+v.toPrecision(3))
    : v.toLocaleString('en', { maximumFractionDigits: Math.max(0, Math.ceil(2 - Math.log10(range))) });

const draw = (r, x, ys, kind) => {
  const rows = r.rows.slice(0, maxPoints),
    values = ys.map(i => rows.map(row => number(row[i])));
  const all = values.flat().filter(v => v !== null),
    top = Math.max(0, ...all),
    low = Math.min(0, ...all),
    range = top - low || 1;
  const step = (width - left) / Math.max(1, rows.length),
    y = v => (height - bottom) * (1 - (v - low) / range);
  const said = el('p', { class: 'dim', role: 'status' },
    rows.length < r.rows.length ? `The first ${count(maxPoints)} of ${count(r.rows.length)} rows.` : '',
  );
  const s = svg('svg', {
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    class: 'drawn',
    'aria-label': `${ys.map(i => r.columns[i].name).join(', ')} by ${r.columns[x].name}`,
  });
  const label = (at, words, props) => {
    const t = svg('text', { y: at, ...props });
    t.textContent = shown(words);
    s.append(t);
  };
  for (const v of [low, low + range / 2, top]) {
    s.append(svg('line', { class: 'rule', x1: left, x2: width, y1: y(v), y2: y(v) }));
    label(Math.max(10, y(v) + 4), tick(v, range), { x: left - 6, 'text-anchor': 'end' });
  }
  values.forEach((list, k) => {
    if (kind === 'bars') {
      const w = Math.max(0.5, (step * 0.8) / ys.length);
      list.forEach((v, i) => {
        if (v !== null)
          s.append(
            svg('rect', {
              class: `s${k % 6}`,
              x: left + i * step + step * 0.1 + k * w,
              y: Math.min(y(v), y(0)),
              width: w,
              height: Math.max(0.5, Math.abs(y(v) - y(0))),
            }),
          );
      });
      return;
    }
    let d = '',
      gap = true;
    list.forEach((v, i) => {
      if (v === null) {
        gap = true;
        return;
      }
      d += `${gap ? 'M' : 'L'}${(left + (i + 0.5) * step).toFixed(1)} ${y(v).toFixed(1)}`;
      gap = false;
    });
    s.append(svg('path', { class: `s${k % 6} series`, d: d || 'M0 0' }));
  });
  const name = row => (row[x] === null ? 'NULL' : row[x]);
  const names = rows.map(row => name(row).slice(0, longestLabel)),
    wide = names.map(n => 8 + [...n].reduce((sum, c) => sum + (c > '\u1100' ? 12 : 7), 0)), // about
    each = Math.ceil(Math.max(0, ...wide) / step) || 1;
  for (let i = 0; i < rows.length; i += each) {
    const x = Math.min(left + (i + 0.5) * step, width - wide[i] / 2);
    label(height - 5, names[i], { x, 'text-anchor': 'middle' });
  }
  s.addEventListener('pointermove', e => {
    const box = s.getBoundingClientRect(),
      i = Math.floor((((e.clientX - box.left) / box.width) * width - left) / step);
    if (i < 0 || i >= rows.length) return;
    const values = ys.map(k => `${r.columns[k].name} ${rows[i][k] === null ? 'NULL' : rows[i][k]}`);
    said.textContent = shown(`${name(rows[i])}: ${values.join(', ')}`);
  });
  const keys = ys.map((i, k) => el('span', { class: `key s${k % 6}` }, named(r.columns[i].name)));
  return [ys.length > 1 ? bar(keys) : '', s, said];
};

/** A chart with choices of what is drawn. */
export const chartOf = r => {
  const numbers = r.columns.map((_, i) => i).filter(i => numeric(r, i));
  if (numbers.length === 0 || r.rows.length === 0)
    return none('A chart needs a column of numbers, and rows.');
  const others = r.columns.map((_, i) => i).filter(i => !numbers.includes(i));
  const first = others.length ? others[0] : numbers[0],
    named = i => text(r.columns[i].name);
  const across = select('across', r.columns.map((_, i) => [i, named(i)]), first, () => show());
  const rest = numbers.filter(i => i !== first),
    start = rest.length ? rest[0] : numbers[0];
  const up = select(
    'up',
    [...numbers.map(i => [i, named(i)]), ...(rest.length > 1 ? [['all', 'all numbers']] : [])],
    start,
    () => show(),
  );
  const kind = select(
    'kind',
    [['bars', 'bars'], ['line', 'line']],
    /time|date/.test(r.columns[first].type) ? 'line' : 'bars',
    () => show(),
  );
  const body = el('div');
  const show = () =>
    body.replaceChildren(...draw(r, Number(across.value), up.value === 'all' ? rest : [Number(up.value)], kind.value));
  show();
  return el('div', {}, bar(el('label', {}, 'across ', across), el('label', {}, 'up ', up), kind), body);
};
