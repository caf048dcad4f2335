// A plan as a tree, from EXPLAIN (FORMAT JSON).
import { el, text, count } from './dom.js';

const shown = new Set([
  'Node Type',
  'Relation Name',
  'Schema',
  'CTE Name',
  'Alias',
  'Join Type',
  'Parent Relationship',
  'Subplan Name',
  'Parallel Aware',
  'Async Capable',
  'Plans',
  'Startup Cost',
  'Total Cost',
  'Plan Rows',
  'Plan Width',
  'Actual Rows',
  'Actual Loops',
  'Rows Examined',
]);

/** The unit of a fact, which Postgres' JSON leaves out. */
const unit = (k, v) =>
  typeof v !== 'number' ? '' : k.endsWith('Time') ? ' ms' : /(Memory|Disk) Usage$|Space Used$/.test(k) ? ' kB' : '';

// title names a step as the text of EXPLAIN does.
const title = p => {
  const join = p['Join Type'] && p['Join Type'] !== 'Inner' ? `, ${p['Join Type'].toLowerCase()}` : '';
  const schema = p['Relation Name'] && p.Schema !== 'public' ? `${p.Schema}.` : '';
  const name = p['Relation Name'] || p['CTE Name'] || p.Alias;
  const alias = name && p.Alias && p.Alias !== name ? ` ${p.Alias}` : '';
  const plan = p['Subplan Name'] ? `${p['Subplan Name']}: ` : '';
  return plan + p['Node Type'] + join + (name ? ` on ${schema}${name}${alias}` : '');
};

const node = (p, total) => {
  const share = total > 0 ? Math.min(100, (100 * (p['Total Cost'] || 0)) / total) : 0;
  const facts = Object.entries(p).filter(([k]) => !shown.has(k));
  const runs = p['Actual Loops'] > 1 ? ` in each of ${count(p['Actual Loops'])} runs` : '';
  const rows =
    p['Actual Rows'] === undefined ? `about ${count(p['Plan Rows'])} rows` : `${count(p['Actual Rows'])} rows${runs}`;
  const examined = p['Rows Examined'] > p['Actual Rows'] ? `, ${count(p['Rows Examined'])} examined` : '';
  return el(
    'li',
    {},
    el(
      'div',
      { class: 'step' },
      el('b', {}, text(title(p))),
      ' ',
      el('span', { class: 'dim' }, `${rows}${examined} · cost ${count(p['Total Cost'])}`),
      el('progress', { max: 100, value: share, 'aria-label': 'share of the cost' }),
      facts.length
        ? el(
            'ul',
            { class: 'facts' },
            facts.map(([k, v]) =>
              el(
                'li',
                {},
                el('span', { class: 'dim' }, `${k}: `),
                Array.isArray(v) ? v.map(text).join(', ') : text(v),
                unit(k, v),
              ),
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
  const facts = Object.entries(top).filter(([k]) => k !== 'Plan' && k !== 'Triggers');
  return [
    el('ul', { class: 'plan' }, node(top.Plan, top.Plan['Total Cost'])),
    facts.length
      ? el(
          'p',
          { class: 'dim' },
          facts.map(([k, v]) => `${k} ${text(v)}${unit(k, v)}`).join(' · '),
        )
      : '',
  ];
};
