// Completes words of SQL: relations and columns of the database's catalogue, and keywords.
import { el, press, dim, plural, speak } from './dom.js';
import { sql, identifier } from './source.js';
import { wordBefore, aliased } from './words.js';
import { recovering, trouble } from './recovery.js';

const keywords = (
  'SELECT FROM WHERE GROUP BY ORDER BY HAVING LIMIT OFFSET JOIN LEFT JOIN ON USING AS AND OR NOT NULL IS IN ' +
  'BETWEEN LIKE ILIKE EXISTS CASE WHEN THEN ELSE END DISTINCT UNION ALL WITH VALUES INSERT INTO UPDATE SET ' +
  'DELETE RETURNING EXPLAIN ANALYZE COUNT SUM AVG MIN MAX COALESCE ASC DESC TRUE FALSE INTERVAL OVER PARTITION BY ' +
  'LATERAL ' +
  'jsonb_array_elements jsonb_each jsonb_typeof jsonb_object_keys date_trunc now numeric text jsonb'
).split(' ');
const maxOffers = 12,
  near = 5000; // characters around the caret in which relations are looked for, whose columns are offered

/** Relations by schema, with their columns. */
const catalogue = async database => {
  const found = await sql(
    database,
    `SELECT table_schema, table_name, column_name, data_type FROM information_schema.columns
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
    ORDER BY table_schema <> 'public', 1, 2, ordinal_position`,
    { rows: 5000 },
  );
  const list = new Map();
  for (const [schema, name, column, type] of found.results[0].rows) {
    const key = `${schema}\n${name}`;
    if (!list.has(key)) list.set(key, { schema, name, columns: [] });
    list.get(key).columns.push([column, type]);
  }
  return [...list.values()];
};

const full = r => (r.schema === 'public' ? identifier(r.name) : `${identifier(r.schema)}.${identifier(r.name)}`);

/** Completes what is written in box. offers shows the choices, and relations all there are. */
export const completion = (box, offers, database, say) => {
  let known = [],
    chosen = 0,
    shown = [];
  const relations = el('div', {}, 'Loading…');

  const insert = word => {
    const [from, to] = [box.selectionStart, box.selectionEnd];
    box.setRangeText(/[\w"]$/.test(box.value.slice(0, from)) ? ` ${word}` : word, from, to, 'end');
    box.focus();
    hide();
  };
  const reload = recovering(
    async current => {
      const found = await catalogue(database());
      if (!current()) return;
      known = found;
      relations.replaceChildren(
        ...known.map(r =>
          el('p', {},
            press(full(r), () => insert(full(r))),
            ' ',
            dim(r.columns.map(([n, t]) => `${n} ${t}`).join(', ')),
          ),
        ),
      );
    },
    e => {
      known = [];
      relations.replaceChildren(trouble(e, () => reload()));
    },
    say,
  );

  const candidates = () => {
    const statement = box.value,
      at = box.selectionStart,
      w = wordBefore(statement, at),
      offered = new Map();
    if (!w) return [];
    const offer = (label, insert) => {
      if (!offered.has(insert)) offered.set(insert, { label, insert });
    };
    const begins = name => name.toLowerCase().startsWith(w.begun);
    if (w.owner) {
      for (const r of known) if (r.schema === w.owner && begins(r.name)) offer(r.name, identifier(r.name));
      const of = aliased(statement, w.owner) ?? w.owner;
      for (const r of known)
        if (full(r) === of || r.name === of) for (const [c] of r.columns) if (begins(c)) offer(c, identifier(c));
      return [...offered.values()];
    }
    if (!w.begun) return [];
    const around = statement.slice(Math.max(0, at - near), at + near);
    for (const r of known)
      if (around.includes(r.name)) for (const [c] of r.columns) if (begins(c)) offer(c, identifier(c));
    for (const r of known) if (begins(r.name) || begins(r.schema)) offer(full(r), full(r));
    for (const k of keywords) if (begins(k)) offer(k, k);
    return [...offered.values()].filter(o => o.insert.toLowerCase() !== w.begun);
  };
  const hide = () => {
    if (shown.length) speak('');
    shown = [];
    offers.replaceChildren();
    box.removeAttribute('aria-activedescendant');
  };
  const accept = o => {
    const w = wordBefore(box.value, box.selectionStart);
    if (!w) return;
    box.setSelectionRange(w.from, box.selectionStart);
    insert(o.insert);
  };
  const draw = () =>
    offers.replaceChildren(
      ...shown.map((o, i) =>
        el('button', {
          id: `offer${i}`, role: 'option', tabindex: -1, 'aria-selected': i === chosen ? 'true' : 'false',
          mousedown: e => {
            e.preventDefault();
            accept(o);
          },
        }, o.label),
      ),
    );
  box.addEventListener('input', () => {
    shown = candidates().slice(0, maxOffers);
    chosen = 0;
    box.removeAttribute('aria-activedescendant');
    draw();
    const n = shown.length;
    speak(n ? `${plural(n, 'completion')}: Tab takes ${shown[0].label}, Alt and arrows choose` : '');
  });
  // A field of several lines can be no combobox, which would have aria-expanded: what there is is said as well.
  box.setAttribute('aria-autocomplete', 'list');
  box.setAttribute('aria-haspopup', 'listbox');
  box.setAttribute('aria-controls', (offers.id = 'offers'));
  box.addEventListener('blur', hide);
  box.addEventListener('keydown', e => {
    if (!shown.length) return;
    if (e.key === 'Tab' && !e.shiftKey) {
      e.preventDefault();
      accept(shown[chosen]);
    } else if (e.key === 'Escape') hide();
    else if (e.altKey && (e.key === 'ArrowDown' || e.key === 'ArrowUp')) {
      e.preventDefault();
      chosen = (chosen + (e.key === 'ArrowDown' ? 1 : shown.length - 1)) % shown.length;
      draw();
      box.setAttribute('aria-activedescendant', `offer${chosen}`);
      speak(`${shown[chosen].label}, ${chosen + 1} of ${shown.length}`);
    }
  });
  reload();
  return { reload, hide, relations, end: reload.ends };
};
