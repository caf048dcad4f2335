// A plan as a tree, from EXPLAIN (FORMAT JSON).
import { el, dim, text, count } from './dom.js';

const shown = new Set(
  ('Node Type,Relation Name,Schema,CTE Name,Alias,Join Type,Parent Relationship,Subplan Name,Parallel Aware,Plans,' +
    'Async Capable,Startup Cost,Total Cost,Plan Rows,Plan Width,Actual Rows,Actual Loops,Rows Examined').split(','),
);

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

/** What a step costs: the rows that it has handled, or what it is expected to cost if it was not run. */
const work = p =>
  p['Actual Rows'] === undefined
    ? p['Total Cost'] || 0
    : Math.max(p['Actual Rows'], p['Rows Examined'] || 0) * p['Actual Loops'];

/** The most that a step of a plan costs. */
const most = p => Math.max(work(p), ...(p.Plans || []).map(most));

const node = (p, top) => {
  const share = top > 0 ? (100 * work(p)) / top : 0;
  const facts = Object.entries(p).filter(([k]) => !shown.has(k));
  const runs = p['Actual Loops'] > 1 ? ` in each of ${count(p['Actual Loops'])} runs` : '';
  const ran = p['Actual Rows'] !== undefined,
    expected = `about ${count(p['Plan Rows'])}`,
    rows = ran ? `${count(p['Actual Rows'])} rows${runs}, ${expected} expected` : `${expected} rows`;
  const examined = p['Rows Examined'] > p['Actual Rows'] ? `, ${count(p['Rows Examined'])} examined` : '';
  return el('li', {},
    el('div', { class: 'step' },
      el('b', {}, text(title(p))),
      ' ',
      dim(`${rows}${examined} · cost ${count(p['Total Cost'])}`),
      el('progress', { max: 100, value: share, 'aria-label': ran ? 'rows, against the most' : 'share of the cost' }),
      facts.length
        ? el('ul', { class: 'facts' },
            facts.map(([k, v]) =>
              el('li', {}, dim(`${k}: `), Array.isArray(v) ? v.map(text).join(', ') : text(v), unit(k, v)),
            ),
          )
        : '',
    ),
    (p.Plans || []).length
      ? el('ul', {},
          p.Plans.map(c => node(c, top)),
        )
      : '',
  );
};

export const planTree = source => {
  const [top] = JSON.parse(source);
  const facts = Object.entries(top).filter(([k]) => k !== 'Plan' && k !== 'Triggers');
  const ran = top.Plan['Actual Rows'] !== undefined;
  return [
    el('ul', { class: 'plan' }, node(top.Plan, most(top.Plan))),
    el('p', { class: 'dim' },
      [
        ran ? 'bars: rows handled, against the step with most' : 'bars: share of the expected cost',
        ...facts.map(([k, v]) => `${k} ${text(v)}${unit(k, v)}`),
      ].join(' · '),
    ),
  ];
};
