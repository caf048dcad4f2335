// A list that the server sorts, searches and divides into pages.
import { el, shown, count, text, redraw } from './dom.js';
import { follow } from './source.js';

/** What a row is about, whatever its values are now. */
const about = r =>
  ['node', 'id', 'name', 'pid', 'type', 'database', 'design', 'shard', 'document', 'source', 'target']
    .map(k => text(r[k]))
    .join('\0');

/** Rows as a table; on a narrow screen each row is a card. columns: {title, cell, sort, number, extra}. */
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
              'aria-sort': order && order.sort === c.sort && c.sort ? (order.desc ? 'descending' : 'ascending') : null,
            },
            order && c.sort
              ? el(
                  'button',
                  { click: () => order.by(c.sort) },
                  c.title,
                  order.sort === c.sort ? (order.desc ? ' ▾' : ' ▴') : '',
                )
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

/** Shows a list of the server in a place. more are further parameters. Returns a function that ends it. */
export const list = (place, view, caption, columns, empty, say, search = '', asks = false, more = {}) => {
  const q = { ...more, sort: '', desc: '', search, after: '' },
    before = [];
  let stop = () => {},
    page = null,
    drawn = '';
  const box = el('input', {
    type: 'search',
    placeholder: 'name, state, node …',
    'aria-label': `Search ${caption}`,
    value: search,
  });
  const total = el('span', { class: 'dim', role: 'status' }),
    body = el('div', {});
  const start = () => {
    stop();
    stop = follow(view, q, show, say, asks);
  };
  const by = column => {
    q.desc = page && page.sort === column && !page.desc ? 'true' : '';
    if (!page || page.sort !== column) q.desc = columns.find(c => c.sort === column).number ? 'true' : '';
    q.sort = column;
    q.after = '';
    before.length = 0;
    start();
  };
  let typed = 0;
  box.addEventListener('input', () => {
    clearTimeout(typed);
    typed = setTimeout(() => {
      q.search = box.value;
      q.after = '';
      before.length = 0;
      start();
    }, 250);
  });
  const show = p => {
    page = p;
    total.textContent = shown(
      `${count(p.total)} ${q.search ? 'found' : 'in all'}` +
        (p.absent || []).map(a => ` · without ${text(a.node)}: ${text(a.reason)}`).join(''),
    );
    const turn = (label, enabled, go) =>
      el(
        'button',
        {
          disabled: !enabled,
          click: () => {
            go();
            start();
          },
        },
        label,
      );
    const now = JSON.stringify([p.rows, p.partial, p.note, p.sort, p.desc, p.next, q.search, before.length]);
    if (now === drawn) return; // most updates of a quiet cluster change only the time
    drawn = now;
    redraw(
      body,
      p.partial ? el('p', { class: 'warn' }, p.partial) : '',
      p.note ? el('p', { class: 'dim' }, p.note) : '',
      p.rows.length
        ? table(caption, columns, p.rows, { sort: p.sort, desc: p.desc, by })
        : q.search
          ? el('p', { class: 'none' }, 'Nothing is found.')
          : empty(),
      p.next || before.length
        ? el(
            'div',
            { class: 'pages' },
            turn('‹ back', before.length > 0, () => {
              q.after = before.pop();
            }),
            turn('next ›', !!p.next, () => {
              before.push(q.after);
              q.after = p.next;
            }),
          )
        : '',
    );
  };
  place.append(
    el('section', { 'aria-label': caption }, el('div', { class: 'bar' }, el('h2', {}, caption), box, total), body),
  );
  start();
  return () => {
    clearTimeout(typed);
    stop();
  };
};
