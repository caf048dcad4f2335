// A list that the server sorts, searches and divides into pages.
import { el, none, bar, shown, count, text, redraw, typing, progress } from './dom.js';
import { follow } from './source.js';
import { given, note, pagesBefore } from './address.js';

/** What a row is about, whatever its values are now. */
const about = r =>
  ['node', 'id', 'name', 'pid', 'type', 'database', 'design', 'shard', 'document', 'source', 'target']
    .map(k => text(r[k]))
    .join('\0');

/** Lets long words of an element break behind slashes, and returns whether none is left that must break elsewhere. */
const whole = e => {
  const long = /\S{31}/;
  for (const n of [...e.childNodes])
    if (long.test(n.data))
      n.replaceWith(...n.data.split(/(?<=\/)(?=[^/])/).flatMap((w, i) => (i ? [el('wbr'), w] : w)));
  return ![...e.childNodes].some(n => long.test(n.textContent));
};

/** A column of a table. sort is what it is sorted by, and an extra one is left out on a narrow screen. */
export const col = (title, cell, sort, extra) => ({ title, cell, sort, extra });

/** A column of numbers. */
export const num = (...of) => ({ ...col(...of), number: true });

/** Rows as a table; on a narrow screen each row is a card. */
export const table = (caption, columns, rows, order) => {
  const seen = new Map();
  const key = r => {
    const what = about(r),
      before = seen.get(what) || 0;
    seen.set(what, before + 1);
    return before ? `${what}\0${before}` : what;
  };
  return el(
    'table',
    { 'aria-label': caption },
    el(
      'thead',
      {},
      el(
        'tr',
        {},
        columns.map(c =>
          el(
            'th',
            {
              scope: 'col',
              class: `${c.number ? 'n' : ''} ${c.extra ? 'extra' : ''}`.trim(),
              click: order && c.sort ? () => order.by(c.sort) : null, // those of its button too
              'aria-sort': order && order.sort === c.sort && c.sort ? (order.desc ? 'descending' : 'ascending') : null,
            },
            order && c.sort
              ? el('button', {}, c.title, order.sort === c.sort ? (order.desc ? ' ▾' : ' ▴') : '')
              : c.title,
          ),
        ),
      ),
    ),
    el(
      'tbody',
      {},
      rows.map(r =>
        el(
          'tr',
          { key: key(r) },
          columns.map(c => {
            const content = el('span', {}, c.cell(r));
            if (whole(content)) content.className = 'words';
            return el(
              'td',
              {
                class: [
                  c.number ? 'n' : '',
                  c.extra ? 'extra' : '',
                  content.childNodes.length && content.textContent !== '' ? '' : 'empty',
                ]
                  .join(' ')
                  .trim(),
                'data-name': c.title,
              },
              content,
            );
          }),
        ),
      ),
    ),
  );
};

/** Pairs of a name and what is so, as a table; those without a value are left out. */
export const facts = list =>
  el(
    'table',
    { 'aria-label': 'Facts' },
    el(
      'tbody',
      {},
      list
        .filter(([, v]) => v !== '' && v !== undefined)
        .map(([name, ...v]) =>
          el('tr', {}, el('th', { scope: 'row' }, name), el('td', { 'data-name': name }, el('span', {}, v))),
        ),
    ),
  );

/**
 * Buttons for the pages before and after the one of q, or nothing if there are none. before are where those before
 * begin, and turned is called when q is another page.
 */
export const pages = (q, next, before, turned) => {
  const turn = (label, enabled, go) =>
    el(
      'button',
      {
        disabled: !enabled,
        click: () => {
          go();
          turned(true);
        },
      },
      label,
    );
  return next || q.after
    ? el(
        'div',
        { class: 'pages' },
        turn(before.length || !q.after ? '‹ back' : '‹ first', !!q.after, () => {
          q.after = before.pop() || ''; // who was sent the address has no pages before
        }),
        turn('next ›', !!next, () => {
          before.push(q.after);
          q.after = next;
        }),
      )
    : '';
};

/** What notes q by noted, and shows it: another page if turned, otherwise the first one. before is that of pages. */
export const turning = (q, before, noted, show) => turned => {
  if (!turned) {
    q.after = '';
    before.length = 0;
  }
  noted(turned);
  show();
};

/**
 * Shows a list of the server in a place. more are further parameters, and read, if given, gets each state and what
 * shows it again, if read has changed it. In the address the names of its search, order and page begin with as: a view
 * can have several lists. Returns a function that ends it.
 */
export const list = (place, view, caption, columns, empty, say, { asks = false, more = {}, as = '', read } = {}) => {
  const told = given(),
    q = { ...more },
    before = pagesBefore(as);
  for (const k of ['sort', 'desc', 'search', 'after']) q[k] = told.get(as + k) || '';
  if (!columns.some(c => c.sort === q.sort)) q.sort = '';
  const changed = turning(
    q,
    before,
    turned =>
      note(Object.fromEntries(['sort', 'desc', 'search', 'after'].map(k => [as + k, q[k]])), turned, as, before),
    () => start(),
  );
  let stop = () => {},
    page = null,
    waits = false,
    drawn = '';
  const box = el('input', {
    type: 'search',
    placeholder: 'name, state, node …',
    'aria-label': `Search ${caption}`,
    value: q.search,
  });
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
    stop = follow(view, q, show, wrong, asks);
  };
  const by = column => {
    q.desc = page && page.sort === column && !page.desc ? 'true' : '';
    if (!page || page.sort !== column) q.desc = columns.find(c => c.sort === column).number ? 'true' : '';
    q.sort = column;
    changed();
  };
  const untyped = typing(box, () => {
    q.search = box.value;
    changed();
  });
  const show = p => {
    page = p;
    waiting(false);
    if (read) read(p, () => page && !waits && show(page));
    total.textContent = shown(
      `${count(p.total)} ${q.search ? 'found' : 'in all'}` +
        (p.absent || []).map(a => ` · without ${text(a.node)}: ${text(a.reason)}`).join(''),
    );
    const now = JSON.stringify([p.rows, p.partial, p.note, p.sort, p.desc, p.next, q.search, q.after, before.length]);
    if (now === drawn) return; // most updates of a quiet cluster change only the time
    drawn = now;
    redraw(
      body,
      p.partial ? el('p', { class: 'warn' }, p.partial) : '',
      p.note ? el('p', { class: 'dim' }, p.note) : '',
      p.rows.length
        ? table(caption, columns, p.rows, { sort: p.sort, desc: p.desc, by })
        : q.search || q.after
          ? none(q.after ? 'There is nothing on this page any more.' : 'Nothing is found.')
          : empty(p),
      pages(q, p.next, before, changed),
    );
  };
  place.append(el('section', { 'aria-label': caption }, bar(el('h2', {}, caption), box, total), body));
  start();
  return () => {
    untyped();
    stop();
  };
};
