// A plan as a tree, from EXPLAIN (FORMAT JSON).
import { el, text, count } from './dom.js';

const shown = new Set([
  'Node Type',
  'Plans',
  'Startup Cost',
  'Total Cost',
  'Plan Rows',
  'Plan Width',
  'Actual Rows',
  'Rows Examined',
]);

const node = (p, total) => {
  const share = total > 0 ? Math.min(100, (100 * (p['Total Cost'] || 0)) / total) : 0;
  const facts = Object.entries(p).filter(([k]) => !shown.has(k));
  const rows =
    p['Actual Rows'] === undefined ? `about ${count(p['Plan Rows'])} rows` : `${count(p['Actual Rows'])} rows`;
  const examined = p['Rows Examined'] > p['Actual Rows'] ? `, ${count(p['Rows Examined'])} examined` : '';
  return el(
    'li',
    {},
    el(
      'div',
      { class: 'step' },
      el('b', {}, text(p['Node Type'])),
      ' ',
      el('span', { class: 'dim' }, `${rows}${examined} · cost ${count(p['Total Cost'])}`),
      el('progress', { max: 100, value: share, 'aria-label': 'share of the cost' }),
      facts.length
        ? el(
            'ul',
            { class: 'facts' },
            facts.map(([k, v]) =>
              el('li', {}, el('span', { class: 'dim' }, `${k}: `), Array.isArray(v) ? v.map(text).join(', ') : text(v)),
            ),
          )
        : '',
    ),
    (p.Plans || []).length
      ? el(
          'ul',
          {},
          p.Plans.map(c => node(c, total)),
        )
      : '',
  );
};

export const planTree = source => {
  const [top] = JSON.parse(source);
  const facts = Object.entries(top).filter(([k]) => k !== 'Plan');
  return [
    el('ul', { class: 'plan' }, node(top.Plan, top.Plan['Total Cost'])),
    facts.length
      ? el(
          'p',
          { class: 'dim' },
          facts.map(([k, v]) => `${k} ${text(v)}${k.endsWith('Time') ? ' ms' : ''}`).join(' · '),
        )
      : '',
  ];
};
