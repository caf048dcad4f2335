// A box for SQL: completion, results, plans, charts and downloads.
import { el, press, bar, section, tooled, text, count, plural, link, to, typing, speak, tell, warn } from './dom.js';
import { hold, read, sql, stored } from './source.js';
import { completion } from './completion.js';
import { grid, download } from './results.js';
import { planTree } from './plan.js';
import { chartOf } from './chart.js';
import { recovering } from './recovery.js';

const most = 10000,
  firstRows = 100,
  mostNames = 100,
  kept = 'divan.statements',
  leftKey = 'divan.left', // what became of statements that ran when the view was left: [text]
  lastKey = 'divan.database', // that of the view when it was left: [name]
  drafts = 'divan.drafts', // what was typed last: [[database, text]]
  mostDrafts = 10,
  longestDraft = 100000,
  undone = '40000'; // the code of a notice that what was written is not stored

const past = () => stored(kept);
/** Keeps a statement in the list, at a place of it: the first one is offered where nothing was typed. */
const remember = (s, at = 0) => {
  const list = past().filter(x => x !== s);
  list.splice(at, 0, s);
  for (let n = 50; n && !hold(kept, list.slice(0, n)); n >>= 1); // a browser keeps 5 MB
};
/** Keeps what is typed for a database, unless it is too long: a part of a statement could do something else. */
const draft = (database, s) => {
  const others = stored(drafts).filter(([d]) => d !== database),
    fits = s.trim() && s.length <= longestDraft;
  hold(drafts, (fits ? [[database, s], ...others] : others).slice(0, mostDrafts));
};

const all = String.raw`All of them are written by psql: \copy (SELECT …) TO 'result.csv' CSV HEADER`;
const cutOff = 'What the statements had not committed by then is undone.';

/** An error with the place in the statement where it is. */
const trouble = (e, source) => {
  const chars = [...source],
    at = e.position ? e.position - 1 : -1;
  const from = at < 0 ? 0 : chars.lastIndexOf('\n', at - 1) + 1,
    to = at < 0 ? 0 : (i => (i < 0 ? chars.length : i))(chars.indexOf('\n', at));
  return el('div', { role: 'alert' },
    el('p', { class: 'bad' }, e.code ? `${e.code}: ${e.message}` : e.message),
    at < 0 ? '' : el('pre', {}, chars.slice(from, to).join('') + '\n' + ' '.repeat(Math.max(0, at - from)) + '↑'),
    e.detail ? el('p', {}, e.detail) : '',
    e.hint ? el('p', { class: 'dim' }, e.hint) : '',
  );
};

const brief = s => s.replace(/\s+/g, ' ').slice(0, 80);

const starts = name =>
  [
    ['The newest changes', 'SELECT seq, id, deleted FROM changes ORDER BY seq DESC LIMIT 20'],
    ['Some documents', 'SELECT id, doc FROM docs LIMIT 20'],
    ['Conflicts', 'SELECT id, count(*) FROM conflicts WHERE NOT deleted GROUP BY id ORDER BY 2 DESC LIMIT 20'],
    ['Indexes', 'SELECT * FROM divan.indexes'],
    ['Events', 'SELECT at, node, kind, text FROM divan.events ORDER BY at DESC LIMIT 20'],
  ].filter(() => name);

export const query = (place, say, [name], search) => {
  const given = new URLSearchParams(search).get('q'); // only shown: a link of another site must not run anything
  let running = null,
    stopped = false,
    address = location.hash;
  const database = el('input', {
    value: name ?? ((given === null && stored(lastKey)[0]) || 'divan'),
    list: 'databases', 'aria-label': 'Database', placeholder: 'database', autocomplete: 'off',
  });
  const names = el('datalist', { id: 'databases' });
  const box = el('textarea', {
    class: 'editor', rows: 8, spellcheck: 'false', autocapitalize: 'off', 'aria-label': 'SQL',
    placeholder: 'SELECT … (Ctrl+Enter runs it)',
  });
  const typed = stored(drafts).find(([d]) => d === database.value)?.[1];
  box.value = given || (typed ?? past()[0] ?? 'SELECT id, doc FROM docs LIMIT 20');
  const begun = box.value;
  let put = begun; // by the page, and not typed
  const keep = () => {
    hold(lastKey, [database.value]);
    if (box.value !== begun) {
      if (given && typed) remember(typed, 1); // what is edited takes its place
      draft(database.value, box.value);
    }
    if (running) hold(leftKey, [...stored(leftKey), running.left()]);
  };
  /** Replaces what is in the box. If it was typed it stays in the list, and Undo brings it back. */
  const replace = s => {
    if (box.value !== put && box.value.trim()) remember(box.value, 1);
    box.focus();
    box.select();
    if (!document.execCommand('insertText', false, s)) box.value = s;
    complete.hide();
    put = box.value;
  };
  window.addEventListener('pagehide', keep);
  const offers = el('div', { class: 'offers', role: 'listbox', 'aria-label': 'Completions' });
  const said = el('span', { role: 'status', class: 'dim' }),
    out = el('div');
  const stop = press('Cancel', () => running && running.abort(), { disabled: true });

  /** Runs what is selected, or all, or asks for its plan. */
  const run = async (show, { explain = '', rows = 1000 } = {}) => {
    if (running) running.abort();
    const mine = (running = new AbortController()),
      from = box.selectionStart,
      to = box.selectionEnd;
    const source = (from < to ? box.value.slice(from, to) : box.value).trim(),
      began = performance.now();
    if (!source) {
      running = null;
      stop.disabled = true;
      said.textContent = 'There is no statement.';
      out.replaceChildren();
      return;
    }
    remember(box.value);
    stop.disabled = false;
    said.textContent = 'Running…';
    out.replaceChildren();
    const took = () => `${((performance.now() - began) / 1000).toFixed(2)} s`,
      where = database.value;
    mine.left = () =>
      `“${brief(source)}” in ${where} was cancelled after ${took()}, when the page was left. ${cutOff}`;
    const rowsOf = soFar => soFar.results.reduce((n, r) => n + r.rows.length, 0),
      notices = (soFar, those = () => true) =>
        soFar.notices
          .filter(those)
          .map(n => el('p', n.code === undone ? { class: 'warn', role: 'alert' } : { class: 'dim' }, n.message));
    let soFar = { results: [], notices: [] },
      drawn = 0;
    const timer = setInterval(() => {
      // what has come is shown before the end
      if (running !== mine) return;
      const n = rowsOf(soFar);
      said.textContent = `${count(n)} rows, ${took()} …`;
      if (show === results && n > drawn && drawn < firstRows) {
        drawn = n;
        out.replaceChildren(results(soFar));
      }
    }, 500);
    try {
      const take = s => {
        soFar = s;
      };
      const found = await sql(database.value, source, { rows, explain, signal: mine.signal, take });
      if (stopped || running !== mine) return;
      said.textContent = took();
      const more = found.more && warn(`${found.more} ${all}`);
      out.replaceChildren(...notices(found), more, show(found));
      speak(found.more);
    } catch (e) {
      if (stopped || running !== mine) return;
      const cancelled = e.name === 'AbortError';
      said.textContent = cancelled ? `cancelled after ${took()}` : took();
      out.replaceChildren(
        ...notices(soFar, n => n.code !== undone),
        show === results ? results(soFar) : '',
        cancelled ? '' : trouble(e, source),
        ...notices(soFar, n => n.code === undone),
        (cancelled || e.silent) && soFar.results.some(r => r.done) ? warn(cutOff) : '',
      );
    } finally {
      clearInterval(timer);
      if (running === mine) {
        running = null;
        stop.disabled = true;
      }
    }
  };

  /** more: there are more rows than were read. */
  const result = (r, more) => {
    const n = plural(r.rows.length, 'row'),
      file = kind =>
        press(more ? `${kind} of these ${n}` : kind, () => {
          download(r, kind.toLowerCase());
          tell(`${n} downloaded as ${kind}.`);
        });
    return !r.columns.length && !r.rows.length
      ? section('Done', el('p', {}, el('code', {}, r.done)))
      : section(
          r.done || (more ? `The first ${n}` : n),
          bar(
            file('CSV'),
            file('JSON'),
            press('Chart', e => {
              const c = chartOf(r);
              e.target.closest('section').querySelector('.chart').replaceChildren(c);
            }),
          ),
          el('div', { class: 'chart' }),
          grid(r),
        );
  };
  // A statement that has failed, or has no rows yet, has no result.
  const results = found =>
    el('div', {}, found.results.filter(r => r.done || r.rows.length).map(r => result(r, found.more && !r.done)));
  const plan = found => section('Plan', planTree(found.results[0].rows[0][0]));

  const earlier = el('select', {
    'aria-label': 'Earlier statements',
    change: () => {
      if (earlier.value) replace(earlier.value);
      fill();
      box.focus();
    },
  });
  const fill = () =>
    earlier.replaceChildren(
      el('option', { value: '' }, 'Statements …'),
      ...starts(database.value).map(([n, s]) => el('option', { value: s }, n)),
      ...past().map(s => el('option', { value: s }, brief(s))),
    );
  earlier.addEventListener('focus', fill);
  fill();

  const complete = completion(box, offers, () => database.value, say);
  database.addEventListener('change', () => {
    complete.reload();
    address = to(['sql', database.value]);
    history.replaceState(null, '', address);
  });
  box.addEventListener('keydown', e => {
    if ((e.ctrlKey || e.metaKey) && e.key === 'Enter') {
      e.preventDefault();
      run(results);
    }
  });
  place.append(
    tooled('SQL', [el('label', {}, 'in ', database), names, earlier, link(['sessions'], 'sessions')],
      box,
      offers,
      bar(
        press('Run', () => run(results), { class: 'main' }),
        press('Explain', () => run(plan, { explain: 'plan' })),
        press('Explain and run', () => run(plan, { explain: 'run' }), { title: 'Runs the statement too' }),
        press(`Run, up to ${count(most)} rows`, () => run(results, { rows: most })),
        stop,
        said,
      ),
      el('details', {}, el('summary', {}, 'Relations'), complete.relations),
    ),
    out,
  );
  let sought = '';
  /** Offers names of databases in which what is typed occurs: there may be more than a list can have. */
  const offer = recovering(
    async current => {
      const p = await read('databases', { limit: mostNames, sort: 'name', search: sought });
      if (!current()) return;
      names.replaceChildren(el('option', { value: 'divan' }), ...p.rows.map(d => el('option', { value: d.name })));
    },
    () => {},
    () => {},
  );
  const untyped = typing(database, () => {
    sought = database.value;
    offer();
  });
  offer();
  out.append(...stored(leftKey).map(s => el('p', { class: 'warn', role: 'alert' }, s)));
  hold(leftKey, []);
  box.focus();
  const end = () => {
    stopped = true;
    keep();
    window.removeEventListener('pagehide', keep);
    untyped();
    if (running) running.abort();
    complete.end();
    offer.ends();
  };
  return Object.assign(end, {
    losing: () =>
      running && [
        'Leave and cancel',
        'A statement is running. It is cancelled, and what it has not committed is undone.',
      ],
    at: () => address,
  });
};
