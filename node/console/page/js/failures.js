// The documents that views of a design document skip, since a map function failed. The server sorts, searches and pages
// them: there may be as many as documents.
import {
  el, endOf, none, section, content, named, count, link, redraw, bad, bar, toDatabase, progress,
} from './dom.js';
import { paged, table } from './table.js';
import { couch, literal, path, sql } from './source.js';
import { recovering, trouble } from './recovery.js';

const pageSize = 50,
  folded = 200, // characters of an error that are shown at once
  sorted = 500; // by which errors are sorted
const columns = { id: 'Document', view: 'View', error: 'Error' };

const errorText = s =>
  s.length <= folded
    ? bad(content(s))
    : el('details', {},
        el('summary', { class: 'bad' }, content(`${s.slice(0, folded)}…`)),
        el('pre', { class: 'whole' }, content(s)),
      );

export const failures = (view, say, name, design) => {
  const { q, by, box, turns, ends } = paged(['sort', 'desc', 'search', 'after'], () => load(), {
    usual: { sort: 'id' },
  });
  if (!Object.hasOwn(columns, q.sort)) q.sort = 'id';
  const body = el('div'),
    total = progress();
  const order = () => [...new Set([q.sort, 'id', 'view'])];
  try {
    if (JSON.parse(q.after).map(literal).length !== order().length) q.after = '';
  } catch {
    q.after = ''; // a link was cut: begin anew
  }
  /** What a row [id, view, error] is sorted by. */
  const place = ([id, view, error]) => {
    const of = { id, view, error: [...error].slice(0, sorted).join('') };
    return JSON.stringify(order().map(k => of[k]));
  };
  /** The rows of the page and one more, and how many there are in all. */
  const read = async () => {
    const keys = order().map(k => (k === 'error' ? `left(error, ${sorted})` : k)),
      words = q.search.toLowerCase().split(/\s+/).filter(Boolean),
      within = [
        `design = ${literal(design.replace('_design/', ''))}`,
        ...words.map(w => `strpos(lower(concat_ws(' ', id, view, error)), ${literal(w)}) > 0`),
      ].join(' AND ');
    const behind = q.after
      ? `AND (${keys.join(', ')}) ${q.desc ? '<' : '>'} (${JSON.parse(q.after).map(literal).join(', ')})`
      : '';
    const found = await sql(
      name,
      `SELECT id, view, error FROM divan.index_errors WHERE ${within} ${behind}
      ORDER BY ${keys.map(k => k + (q.desc ? ' DESC' : '')).join(', ')} LIMIT ${pageSize + 1};
      SELECT count(*) FROM divan.index_errors WHERE ${within}`,
    );
    return [found.results[0].rows, Number(found.results[1].rows[0][0])];
  };
  const draw = async current => {
    total.textContent = 'Loading…';
    const [rows, all] = await read();
    if (!all && !q.search) await couch('GET', path(name, design)); // it may be missing
    if (!current()) return;
    const more = rows.length > pageSize;
    rows.splice(pageSize);
    total.textContent = `${count(all)} ${q.search ? 'found' : 'in all'}`;
    redraw(body,
      rows.length
        ? table('Skipped documents',
            [
              { title: columns.id, sort: 'id', cell: ([id]) => link(['databases', name, 'doc', id], id) },
              { title: columns.view, sort: 'view', cell: ([, view]) => named(view) },
              { title: columns.error, sort: 'error', cell: ([, , error]) => errorText(error) },
            ],
            rows,
            { sort: q.sort, desc: !!q.desc, by },
          )
        : none(
            all
              ? 'There is nothing on this page any more.'
              : q.search
                ? 'Nothing is found.'
                : 'No document is skipped.',
          ),
      turns(more && place(rows[rows.length - 1])),
    );
  };
  const load = recovering(
    draw,
    e => {
      total.textContent = '';
      redraw(body, trouble(e, () => load()));
    },
    say,
  );
  view.append(
    section(`Documents that views of ${design} skip`,
      bar(toDatabase(name),
        link(['databases', name, 'doc', design], 'the functions'),
        box('Search skipped documents', 'id, view, error …'),
        total,
      ),
      body,
    ),
  );
  load();
  return endOf([ends, load.ends]);
};
