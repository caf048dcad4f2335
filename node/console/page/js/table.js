// A list that the server sorts, searches and divides into pages.
import { el, press, select, none, tooled, warn, endOf, shown, count, text, redraw, typing, progress } from './dom.js';
import { follow } from './source.js';
import { given, note, pagesBefore } from './address.js';

/** What a row is about, whatever its values are now. */
const about = r =>
  ['node', 'id', 'name', 'pid', 'type', 'database', 'design', 'shard', 'document', 'source', 'target']
    .map(k => text(r[k]))
    .join('\0');

/** Lets long words of an element break behind signs, and returns whether none is left that must break elsewhere. */
const whole = e => {
  const long = /\S{15}/;
  return [...e.childNodes].reduce((all, n) => {
    if (n.nodeType !== Node.TEXT_NODE) return whole(n) && all;
    const parts = long.test(n.data) ? n.data.split(/(?<=[/:_+])(?=[^/:_+])/) : [];
    if (parts.length > 1) n.replaceWith(...parts.flatMap((w, i) => (i ? [el('wbr'), w] : w)));
    return all && !parts.some(w => long.test(w));
  }, true);
};

/** A column of a table. sort is what it is sorted by, and an extra one is left out on a narrow screen. */
export const col = (title, cell, sort, extra) => ({ title, cell, sort, extra });

/** A column of numbers. */
export const num = (...of) => ({ ...col(...of), number: true });

/** What sorts cards, which have no heads of columns. */
const sorter = (columns, { sort, desc, by }) => {
  const ways = ['ascending', 'descending'],
    now = `${sort} ${ways[+!!desc]}`,
    all = columns.filter(c => c.sort).flatMap(c => ways.map(w => [`${c.sort} ${w}`, `${c.title}, ${w}`]));
  if (!all.some(([v]) => v === now)) all.unshift([now, '–']);
  const chosen = e => {
    const [sort, way] = e.target.value.split(' ');
    by(sort, way === ways[1]);
  };
  return el('caption', {}, 'Sort by ', select('Sort by', all, now, chosen));
};

/**
 * Rows as a table; on a narrow screen each row is a card. order is how they are sorted: by what, whether the highest is
 * the first, and by, which gets both when somebody sorts them.
 */
export const table = (caption, columns, rows, order) => {
  const seen = new Map();
  const key = r => {
    const what = about(r),
      before = seen.get(what) || 0;
    seen.set(what, before + 1);
    return before ? `${what}\0${before}` : what;
  };
  const kind = c => `${c.number ? 'n' : ''} ${c.extra ? 'extra' : ''}`;
  return el('table', { 'aria-label': caption },
    order && sorter(columns, order),
    el('thead', {},
      el('tr', {},
        columns.map(c => {
          const sorts = !!(order && c.sort),
            now = sorts && order.sort === c.sort && (order.desc ? 'descending' : 'ascending'),
            click = sorts && (() => order.by(c.sort, now ? !order.desc : !!c.number)); // of its button too
          return el('th', { scope: 'col', class: kind(c), click, 'aria-sort': now },
            sorts ? el('button', {}, c.title, now && (order.desc ? ' ▾' : ' ▴')) : c.title,
          );
        }),
      ),
    ),
    el('tbody', {},
      rows.map(r =>
        el('tr', { key: key(r) },
          columns.map(c => {
            const content = el('span', {}, c.cell(r));
            if (whole(content)) content.className = 'words';
            const as = `${kind(c)} ${content.textContent ? '' : 'empty'}`;
            return el('td', { class: as, 'data-name': c.title }, content);
          }),
        ),
      ),
    ),
  );
};

/** Pairs of a name and what is so, as a table; those without a value are left out. */
export const facts = list =>
  el('table', { 'aria-label': 'Facts' },
    el('tbody', {},
      list
        .filter(([, v]) => v !== '' && v !== undefined)
        .map(([name, ...v]) =>
          el('tr', {}, el('th', { scope: 'row' }, name), el('td', { 'data-name': name }, el('span', {}, v))),
        ),
    ),
  );

/**
 * What a view with pages shows: q has the values of keys as its address says, where their names begin with as, or the
 * usual ones. changed notes them there, and shows the first page, or another one if turned. by is for the order of a
 * table, and before are where the pages before begin. box is a search box for one of the keys, and turns are buttons
 * for the pages before and after.
 */
export const paged = (keys, show, { as = '', usual = {} } = {}) => {
  const told = given(),
    q = {},
    before = pagesBefore(as),
    typed = [];
  for (const k of keys) q[k] = told.get(as + k) || usual[k] || '';
  const changed = turned => {
    if (!turned) {
      q.after = '';
      before.length = 0;
    }
    note(Object.fromEntries(keys.map(k => [as + k, q[k] === usual[k] ? '' : q[k]])), turned, as, before);
    show();
  };
  const turn = (label, enabled, go) =>
    press(label, () => {
      go();
      changed(true);
    }, { disabled: !enabled });
  return {
    q,
    before,
    changed,
    by: (sort, desc) => {
      Object.assign(q, { sort, desc: desc && 'true' });
      changed();
    },
    ends: () => typed.forEach(end => end()),
    box: (label, placeholder, k = 'search') => {
      const e = el('input', { type: 'search', placeholder, 'aria-label': label, value: q[k] });
      typed.push(
        typing(e, () => {
          q[k] = e.value;
          changed();
        }),
      );
      return e;
    },
    turns: next =>
      next || q.after
        ? el('div', { class: 'pages' },
            turn(before.length || !q.after ? '‹ back' : '‹ first', q.after, () => {
              q.after = before.pop() || ''; // who was sent the address has no pages before
            }),
            turn('next ›', next, () => {
              before.push(q.after);
              q.after = next;
            }),
          )
        : '',
  };
};

/**
 * Shows a list of the server in a place. more are further parameters, and read, if given, gets each state and what
 * shows it again, if read has changed it. In the address the names of its search, order and page begin with as: a view
 * can have several lists. Returns a function that ends it.
 */
export const list = (place, view, caption, columns, empty, say, { asks = false, more = {}, as = '', read } = {}) => {
  const { q, by, before, box, turns, ends } = paged(['sort', 'desc', 'search', 'after'], () => start(), { as });
  if (!columns.some(c => c.sort === q.sort)) q.sort = '';
  let stop = () => {},
    page = null,
    waits = false,
    drawn = '';
  const total = progress(),
    body = el('div');
  /** Says whether what is shown is not what was asked for last. */
  const waiting = now => {
    if (now) total.textContent = 'Loading…';
    else if (waits) total.textContent = '';
    if (now) body.setAttribute('aria-busy', 'true');
    else body.removeAttribute('aria-busy');
    waits = now;
  };
  const wrong = (problem, e) => {
    if (problem !== null) waiting(false);
    if (problem !== null && !page) redraw(body, none(problem)); // otherwise the top of the page says it
    say(problem, e);
  };
  const start = () => {
    stop();
    waiting(true);
    stop = follow(view, { ...more, ...q }, show, wrong, asks);
  };
  const show = p => {
    page = p;
    waiting(false);
    if (read) read(p, () => page && !waits && show(page));
    total.textContent = shown(
      `${count(p.total)} ${q.search ? 'found' : 'in all'}` +
        (p.absent || []).map(a => ` · without ${a.node}: ${a.reason}`).join(''),
    );
    const now = JSON.stringify([p.rows, p.partial, p.note, p.sort, p.desc, p.next, q.search, q.after, before.length]);
    if (now === drawn) return; // most updates of a quiet cluster change only the time
    drawn = now;
    redraw(body,
      p.partial ? warn(p.partial) : '',
      p.note ? el('p', { class: 'dim' }, p.note) : '',
      p.rows.length
        ? table(caption, columns, p.rows, { ...p, by })
        : q.search || q.after
          ? none(q.after ? 'There is nothing on this page any more.' : 'Nothing is found.')
          : empty(p),
      turns(p.next),
    );
  };
  place.append(tooled(caption, [box(`Search ${caption}`, 'name, state, node …'), total], body));
  start();
  return endOf([ends, () => stop()]);
};
