// Results of statements: a grid in pages, and files to download.
import { el, press, dim, bar, content, named, none, plural, text, count } from './dom.js';
import { table } from './table.js';
import { pretty } from './json.js';

const pageRows = 100,
  maxCell = 160;

/** The types whose values are numbers, aligned to the right. */
export const isNumber = type => /^(smallint|integer|bigint|numeric|real|double precision)/.test(type);

const whole = (title, value) => {
  const d = document.getElementById('ask');
  d.replaceChildren(
    el('p', {}, title),
    el('pre', { class: 'whole', tabindex: 0 }, content(pretty(value))),
    bar(press('Close', () => d.close(), { autofocus: true })),
  );
  d.showModal();
};

const cell = (column, value) => {
  if (value === null) return dim('NULL');
  if (value.length <= maxCell) return el('code', {}, content(value));
  return [
    el('code', {}, content(value.slice(0, maxCell))),
    press('…', () => whole(column, value), { 'aria-label': `All of ${column}` }),
  ];
};

/** A result as a table of pages. */
export const grid = r => {
  const body = el('div');
  const show = from => {
    if (!r.columns.length) return body.append(none(`${plural(r.rows.length, 'row')} without columns`));
    const to = Math.min(r.rows.length, from + pageRows);
    body.replaceChildren(
      el('div', { class: 'grid' },
        table('Result',
          r.columns.map((c, i) => ({
            title: named(c.name),
            number: isNumber(c.type),
            cell: row => cell(c.name, row[i]),
          })),
          r.rows.slice(from, to),
        ),
      ),
      r.rows.length > pageRows
        ? el('div', { class: 'pages' },
            press('‹ back', () => show(from - pageRows), { disabled: from === 0 }),
            `${count(from + 1)} to ${count(to)} of ${count(r.rows.length)}`,
            press('next ›', () => show(to), { disabled: to === r.rows.length }),
          )
        : '',
    );
  };
  show(0);
  return body;
};

/**
 * RFC 4180, as COPY of Postgres writes it: NULL is empty, an empty text is quoted, and \., where psql stops. A NULL
 * alone in its row is quoted too: many readers skip empty lines. Values are as stored, for programs, although a
 * spreadsheet takes some for formulas.
 */
export const csv = r => {
  const alone = r.columns.length === 1 ? '""' : '';
  const field = v => (v === null ? alone : /^(\\\.)?$|[",\r\n]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v);
  return [r.columns.map(c => c.name), ...r.rows].map(l => l.map(field).join(',') + '\r\n').join('');
};

/** The names of columns, those that were there before with a number: a, a_2. */
export const distinct = names => {
  const all = new Set(names),
    given = new Set();
  return names.map(name => {
    let own = name;
    for (let n = 2; given.has(own) || (own !== name && all.has(own)); n++) own = `${name}_${n}`;
    given.add(own);
    return own;
  });
};

/** An array of objects. Numbers and JSON are as the server wrote them. */
export const json = r => {
  const names = distinct(r.columns.map(c => c.name));
  const value = (v, type) =>
    v === null
      ? 'null'
      : /^jsonb?$/.test(type) || (isNumber(type) && /^-?\d/.test(v))
        ? v
        : type === 'boolean'
          ? String(v === 't')
          : JSON.stringify(v);
  const member = (v, i) => `${JSON.stringify(names[i])}: ${value(v, r.columns[i].type)}`;
  return `[\n${r.rows.map(row => `{${row.map(member).join(', ')}}`).join(',\n')}\n]\n`;
};

/** Lets the browser save a result. */
export const download = (r, kind) => {
  const url = URL.createObjectURL(
    new Blob([kind === 'csv' ? csv(r) : json(r)], { type: kind === 'csv' ? 'text/csv' : 'application/json' }),
  );
  el('a', { href: url, download: `result.${text(kind)}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
};
