// One document: its text to edit, its conflicts beside each other, its history, and its attachments.
import { el, shown, section, text, bytes, link } from './dom.js';
import { table } from './table.js';
import { couch, path } from './source.js';
import { pretty, compare } from './json.js';
import { confirm } from './actions.js';

const maxEdited = 2e6; // bytes; longer ones are only downloaded

/** Two texts beside each other, with marks where they differ. */
const beside = (left, right, titles) =>
  el(
    'table',
    { class: 'diff', 'aria-label': titles.join(' and ') },
    el(
      'thead',
      {},
      el(
        'tr',
        {},
        titles.map(t => el('th', { scope: 'col' }, t)),
      ),
    ),
    el(
      'tbody',
      {},
      compare(left, right).map(([a, b, same]) =>
        el(
          'tr',
          { class: same ? null : 'changed' },
          el('td', { 'data-name': titles[0] }, el('code', {}, a === null ? '' : a)),
          el('td', { 'data-name': titles[1] }, el('code', {}, b === null ? '' : b)),
        ),
      ),
    ),
  );

export const documentPage = (place, name, id) => {
  const at = id === null ? null : path(name, id);
  let stopped = false,
    stored = '',
    meta = {};
  const said = el('p', { role: 'status', class: 'dim' }),
    wrong = el('p', { role: 'alert', class: 'bad' });
  const editor = el('textarea', {
    class: 'editor',
    rows: 18,
    spellcheck: 'false',
    'aria-label': 'The document as JSON',
  });
  const more = el('div', {}),
    tools = el('div', { class: 'bar' });
  const attempt = work => async () => {
    wrong.textContent = '';
    try {
      await work();
    } catch (e) {
      if (!stopped) wrong.textContent = shown(e.message);
    }
  };

  const revision = async rev => pretty(await couch('GET', at, { rev }));
  const changed = () => editor.value !== stored;

  const save = attempt(async () => {
    const body = editor.value;
    let parsed;
    try {
      parsed = JSON.parse(body);
    } catch (e) {
      throw new Error(`This is not JSON: ${e.message}`);
    }
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
      throw new Error('A document is an object: { … }');
    if (id !== null && parsed._id !== undefined && parsed._id !== id)
      throw new Error('“_id” must stay as it is. For another document choose “new document”.');
    try {
      const target = id !== null ? at : parsed._id ? path(name, parsed._id) : path(name);
      const done = JSON.parse(await couch(target === path(name) ? 'POST' : 'PUT', target, {}, body));
      if (id === null) {
        location.hash = link(['databases', name, 'doc', done.id], '').getAttribute('href');
        return;
      }
      await load();
      said.textContent = `Saved as ${done.rev}.`;
    } catch (e) {
      if (e.status !== 409) throw e;
      if (id === null) throw new Error('A document with this id exists already.');
      const theirs = pretty(await couch('GET', at));
      more.replaceChildren(
        section(
          'Someone has changed the document meanwhile',
          el(
            'p',
            { class: 'bar' },
            el(
              'button',
              {
                click: () => {
                  stored = theirs;
                  editor.value = theirs;
                  more.replaceChildren();
                  load();
                },
              },
              'Take theirs',
            ),
            el(
              'button',
              {
                class: 'danger',
                click: () => {
                  const mark = /("_rev"\s*:\s*)"[^"]*"/,
                    rev = JSON.parse(theirs)._rev;
                  editor.value = mark.test(editor.value)
                    ? editor.value.replace(mark, (_, k) => k + JSON.stringify(rev))
                    : editor.value.replace('{', `{\n  "_rev": ${JSON.stringify(rev)},`);
                  save();
                },
              },
              'Save mine over it',
            ),
          ),
          beside(editor.value, theirs, ['Mine', 'Theirs']),
        ),
      );
      throw new Error('Not saved: the document has another revision now.');
    }
  });

  const remove = rev => couch('DELETE', at, { rev });
  const attachments = () => {
    const list = Object.entries(meta._attachments || {});
    const file = el('input', {
      type: 'file',
      'aria-label': 'A file to attach',
      change: attempt(async () => {
        const f = file.files[0];
        if (!f) return;
        await couch('PUT', path(name, id, f.name), { rev: meta._rev }, f, f.type || 'application/octet-stream');
        await load();
      }),
    });
    return section(
      'Attachments',
      list.length
        ? table(
            'Attachments',
            [
              { title: 'Name', cell: ([n]) => el('a', { href: path(name, id, n), download: n }, n) },
              { title: 'Type', cell: ([, a]) => text(a.content_type) },
              { title: 'Size', cell: ([, a]) => bytes(a.length), number: true },
              {
                title: '',
                cell: ([n]) =>
                  confirm('Remove', `${n} is removed from the document.`, async () => {
                    await couch('DELETE', path(name, id, n), { rev: meta._rev });
                    await load();
                  }),
              },
            ],
            list,
          )
        : '',
      el('p', {}, el('label', {}, 'Attach a file: ', file)),
    );
  };
  const conflicts = () =>
    section(
      `${meta._conflicts.length} ${meta._conflicts.length === 1 ? 'conflict' : 'conflicts'}`,
      el(
        'p',
        { class: 'dim' },
        'Edits that did not know of each other. Readers get the left one; keeping one deletes the other.',
      ),
      meta._conflicts.map(rev => {
        const place = el('div', {}, 'Loading…');
        revision(rev).then(
          other => {
            if (!stopped)
              place.replaceChildren(
                el(
                  'p',
                  { class: 'bar' },
                  confirm('Keep the left one', `Revision ${rev} is deleted.`, async () => {
                    await remove(rev);
                    await load();
                  }),
                  confirm(
                    'Keep the right one',
                    `Revision ${meta._rev} is deleted, and readers get the right one.`,
                    async () => {
                      await remove(meta._rev);
                      await load();
                    },
                  ),
                ),
                beside(stored, other, [meta._rev, rev]),
              );
          },
          e => {
            place.textContent = shown(e.message);
          },
        );
        return place;
      }),
    );
  const history = () => {
    const shown = el('div', {});
    return section(
      'History',
      table(
        'History',
        [
          { title: 'Revision', cell: r => el('code', {}, r.rev) },
          {
            title: 'Text',
            cell: r =>
              r.status === 'available'
                ? r.rev === meta._rev
                  ? 'this one'
                  : el(
                      'button',
                      {
                        click: attempt(async () =>
                          shown.replaceChildren(beside(await revision(r.rev), stored, [r.rev, 'now'])),
                        ),
                      },
                      'Compare',
                    )
                : el('span', { class: 'dim' }, text(r.status)),
          },
        ],
        (meta._revs_info || []).slice(0, 50),
      ),
      shown,
    );
  };

  const load = async () => {
    editor.readOnly = id !== null && !stored; // what is typed now would be lost
    if (id === null) {
      stored = '{\n  "_id": ""\n}';
      editor.value = '{\n  \n}';
      return;
    }
    const [body, info] = await Promise.all([couch('GET', at), couch('GET', at, { conflicts: true, revs_info: true })]);
    if (stopped) return;
    meta = JSON.parse(info);
    stored = pretty(body);
    const long = body.length > maxEdited;
    editor.value = long ? '' : stored;
    editor.hidden = long;
    editor.readOnly = false;
    said.textContent = long ? `The document has ${bytes(body.length)}, too much to edit here.` : '';
    tools.replaceChildren(
      long ? el('a', { href: at, download: `${id}.json` }, 'Download') : el('button', { click: save }, 'Save'),
      el(
        'button',
        {
          click: attempt(async () => {
            if (!changed() || long) await load();
            else {
              editor.value = stored;
              wrong.textContent = '';
              more.replaceChildren();
            }
          }),
        },
        'Reload',
      ),
      confirm('Delete', `${id} is deleted. Its revisions stay until compaction.`, async () => {
        await remove(meta._rev);
        location.hash = link(['databases', name, 'docs'], '').getAttribute('href');
      }),
    );
    more.replaceChildren(
      ...[(meta._conflicts || []).length && !long ? conflicts() : '', attachments(), long ? '' : history()],
    );
  };

  editor.addEventListener('keydown', e => {
    if ((e.ctrlKey || e.metaKey) && (e.key === 's' || e.key === 'Enter')) {
      e.preventDefault();
      save();
    }
  });
  place.append(
    section(
      id === null ? 'New document' : id,
      el('p', {}, link(['databases', name, 'docs'], `‹ documents of ${name}`)),
      editor,
      said,
      wrong,
      tools,
    ),
    more,
  );
  if (id === null)
    tools.append(
      el('button', { click: save }, 'Save'),
      el('span', { class: 'dim' }, 'Without “_id” the server makes one.'),
    );
  attempt(load)();
  return () => {
    stopped = true;
  };
};
