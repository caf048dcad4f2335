// The documents of a database: a part of them by id, those with conflicts, or one.
import {
  el, select, endOf, none, tooled, section, content, text, count, link, redraw, toDatabase, progress,
} from './dom.js';
import { paged, table, col } from './table.js';
import { couchJSON, path, sql, literal } from './source.js';
import { documentPage } from './document.js';
import { recovering, trouble } from './recovery.js';

const pageSize = 50,
  previewBytes = 160,
  wholeBytes = 65536; // a larger document is not read for its beginning
const shows = { all: 'All', design: 'Design documents', conflicts: 'With conflicts' };

/** Rows {id, rev} of a part of the documents, and whether there are more. */
const ids = async (name, q) => {
  const from = q.after || q.from;
  if (q.show === 'conflicts') {
    const found = await sql(
      name,
      `SELECT DISTINCT id FROM conflicts WHERE NOT deleted AND id >= ${literal(from)}
      ${q.to ? `AND id <= ${literal(q.to)}` : ''}
      ORDER BY id LIMIT ${pageSize + 1}`,
    );
    return found.results[0].rows.map(([id]) => ({ id }));
  }
  const range =
    q.show === 'design'
      ? { startkey: from > '_design/' ? from : '_design/', endkey: q.to && q.to < '_design0' ? q.to : '_design0' }
      : { startkey: from, endkey: q.to };
  const params = { limit: pageSize + 1 };
  for (const [k, v] of Object.entries(range)) if (v) params[k] = JSON.stringify(v);
  return (await couchJSON('GET', path(name, '_all_docs'), params)).rows.map(r => ({
    id: r.id,
    rev: r.value.rev,
  }));
};

const idAndRev = /^\{"_id":"(?:[^"\\]|\\.)*","_rev":"[^"]*",?/; // which have columns of their own

/** The beginnings of some documents as they are stored, or for large ones as jsonb, by id. */
const previews = async (name, rows) => {
  if (rows.length === 0) return new Map();
  const list = rows.map(r => literal(r.id)).join(', ');
  const found = await sql(
    name,
    `SELECT id, CASE WHEN octet_length(doc::text) <= ${wholeBytes} THEN doc END, left(doc::text, ${previewBytes + 1})
    FROM docs WHERE id IN (${list})`,
  );
  return new Map(
    found.results[0].rows.map(([id, whole, beginning]) => {
      const t = whole === null ? beginning : whole.replace(idAndRev, '{');
      return [id, t.length > previewBytes ? `${t.slice(0, previewBytes)}…` : t];
    }),
  );
};

const list = (place, name, say) => {
  const { q, changed, box, turns, ends } = paged(['from', 'to', 'show', 'after'], () => load(), {
    usual: { show: 'all' },
  });
  if (!Object.hasOwn(shows, q.show)) q.show = 'all';
  const body = el('div'),
    said = progress();
  const choice = select('Which documents', Object.entries(shows), q.show, () => {
    q.show = choice.value;
    changed();
  });
  let rows = [],
    cells = new Map();
  const fill = recovering(
    async current => {
      const found = await previews(name, rows);
      if (!current()) return;
      for (const [id, cell] of cells) cell.replaceChildren(content(found.get(id) ?? ''));
    },
    (e, again) => {
      if (!again) for (const cell of cells.values()) cell.textContent = '';
    },
    say,
  );
  const draw = async current => {
    if (!body.querySelector('[role=alert]')) said.textContent = 'Loading…';
    const got = await ids(name, q);
    if (!current()) return;
    const next = got.length > pageSize ? got.pop().id : '';
    rows = got;
    cells = new Map();
    said.textContent = rows.length ? `${count(rows.length)} shown` : '';
    body.replaceChildren(
      rows.length
        ? table('Documents',
            [
              col('Document', r => link(['databases', name, 'doc', r.id], r.id)),
              col('Revision',
                r => el('span', { class: 'dim short' }, r.rev ? r.rev.slice(0, 12) + '…' : 'in conflict'),
                '',
                true,
              ),
              col('Content',
                r => {
                  const c = el('code', { class: 'dim' }, '…');
                  cells.set(r.id, c);
                  return c;
                },
              ),
            ],
            rows,
          )
        : none(
            q.to
              ? 'There is no document between these ids.'
              : q.after || q.from
                ? 'There is no document from this id on.'
                : q.show === 'conflicts'
                  ? 'No document has a conflict.'
                  : 'There is no document yet.',
          ),
      turns(next),
    );
    fill();
  };
  const load = recovering(
    draw,
    e => {
      said.textContent = '';
      redraw(body, trouble(e, () => load()));
    },
    say,
  );
  place.append(
    tooled('Documents', [
        'of ',
        toDatabase(name),
        box('From id', 'from id …', 'from'),
        box('To id', 'to id …', 'to'),
        choice,
        link(['databases', name, 'new'], '+ new document'),
        link(['sql', name], 'SQL'),
        said,
      ],
      body,
    ),
  );
  load();
  return endOf([load.ends, fill.ends, ends]);
};

/** The pages below #/databases/NAME: docs, doc/ID and new. */
export const documents = (place, say, name, [what, id]) => {
  if (what === 'docs') return list(place, name, say);
  if (what === 'doc' && id) return documentPage(place, say, name, id);
  if (what === 'new') return documentPage(place, say, name, null);
  place.append(section(text(name), none('There is no such page.')));
  return () => {};
};
