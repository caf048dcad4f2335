// One document: its text to edit, its conflicts beside each other, its history, and its attachments.
import { el, shown, section, text, bytes, link } from './dom.js';
import { table } from './table.js';
import { couch, path } from './source.js';
import { pretty, compare } from './json.js';
import { ask, confirm } from './actions.js';

const maxEdited = 2e6, // bytes; longer ones are only downloaded
  maxRevisions = 50; // that are listed

/** The text of a document with another revision. */
const withRevision = (body, rev) => {
  const member = `"_rev": ${JSON.stringify(rev)}`,
    old = JSON.parse(body);
  const changed =
    old._rev === undefined
      ? body.replace('{', Object.keys(old).length ? `{\n  ${member},` : `{\n  ${member}\n`)
      : body.replace(/"_rev"\s*:\s*"[^"]*"/, member);
  // The first _rev in the text may be that of an object within the document.
  if (JSON.parse(changed)._rev !== rev) throw new Error(`Write ${member} at the beginning of the document.`);
  return changed;
};

/** The text of a document without a revision: it can be written where one was deleted. */
const withoutRevision = body => {
  if (JSON.parse(body)._rev === undefined) return body;
  for (const member of [/"_rev"\s*:\s*"[^"]*"\s*,\s*/, /,?\s*"_rev"\s*:\s*"[^"]*"/])
    try {
      const without = body.replace(member, '');
      if (JSON.parse(without)._rev === undefined) return without;
    } catch {
      /* it was the last member */
    }
  throw new Error('Remove “_rev” from the document.');
};

/** Whether the server says that a document is deleted, and not that it never was. */
const isDeleted = e => e.status === 404 && e.message === 'deleted';

/** The revision by which a document is deleted. */
const tombstone = async at => {
  const found = JSON.parse(await couch('GET', at, { open_revs: 'all' })),
    number = rev => Number(rev.split('-')[0]);
  return found
    .map(f => f.ok && f.ok._rev)
    .filter(Boolean)
    .sort((a, b) => number(b) - number(a) || (a < b ? 1 : -1))[0];
};

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
  const at = id === null ? null : path(name, id),
    local = id !== null && id.startsWith('_local/'); // it has no attachments, conflicts and history
  let stopped = false,
    stored = '', // what the editor had at first
    meta = {},
    standing = ''; // what is so of the document, whatever was done last
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
    said.textContent = standing;
    try {
      await work();
    } catch (e) {
      if (!stopped) wrong.textContent = shown(e.message);
    }
  };

  const revision = async rev => pretty(await couch('GET', at, { rev }));
  /** Whether there are edits that are not saved. */
  const changed = () => !editor.hidden && editor.value !== stored;

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
    editor.readOnly = true; // what is typed now would be lost
    try {
      const target = id !== null ? at : parsed._id ? path(name, parsed._id) : path(name);
      const done = JSON.parse(await couch(target === path(name) ? 'POST' : 'PUT', target, {}, body));
      stored = editor.value;
      if (id === null) {
        location.hash = link(['databases', name, 'doc', done.id], '').getAttribute('href');
        return;
      }
      await load();
      said.textContent = `Saved as ${done.rev}.`;
    } catch (e) {
      if (e.status === 412)
        throw new Error(
          `${e.message} Its attachments are deleted: reload and restore the document, or remove “_attachments” here.`,
        );
      if (e.status !== 409) throw e;
      if (id === null) throw new Error('A document with this id exists already.');
      await dispute();
    } finally {
      editor.readOnly = false;
    }
  });

  /** Shows what somebody else has made of the document, and lets one of both be kept. */
  const dispute = async () => {
    let rev = '',
      theirs = '';
    try {
      theirs = pretty(await couch('GET', at));
      rev = JSON.parse(theirs)._rev;
    } catch (e) {
      if (!isDeleted(e)) throw e;
    }
    more.replaceChildren(
      section(
        `Someone has ${theirs ? 'changed' : 'deleted'} the document meanwhile`,
        el(
          'p',
          { class: 'bar' },
          el(
            'button',
            {
              click: attempt(async () => {
                more.replaceChildren();
                await load();
              }),
            },
            theirs ? 'Take theirs' : 'Leave it deleted',
          ),
          el(
            'button',
            {
              class: 'danger',
              click: attempt(async () => {
                editor.value = theirs ? withRevision(editor.value, rev) : withoutRevision(editor.value);
                await save();
              }),
            },
            'Save mine over it',
          ),
        ),
        theirs ? beside(editor.value, theirs, ['Mine', 'Theirs']) : '',
      ),
    );
    throw new Error(`Not saved: the document ${theirs ? 'has another revision now' : 'is deleted now'}.`);
  };

  /** For what makes a new revision, which is then shown: edits of the one before would be lost. */
  const needsSaved = () => {
    if (changed()) throw new Error('Save your edits first, or reload the document.');
  };
  const remove = async rev => {
    needsSaved();
    await couch('DELETE', at, { rev });
  };
  const attachments = () => {
    const list = Object.entries(meta._attachments || {});
    const file = el('input', {
      type: 'file',
      'aria-label': 'A file to attach',
      change: attempt(async () => {
        const f = file.files[0];
        if (!f) return;
        needsSaved();
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
                    needsSaved();
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
  /** The revisions that are known. choose returns what can be done with one whose text is there. */
  const history = choose => {
    const shown = el('div', {});
    return section(
      'History',
      table(
        'History',
        [
          { title: 'Revision', cell: r => el('code', {}, r.rev) },
          {
            title: 'Text',
            cell: r => (r.status === 'available' ? choose(r.rev, shown) : el('span', { class: 'dim' }, text(r.status))),
          },
        ],
        (meta._revs_info || []).slice(0, maxRevisions),
      ),
      shown,
    );
  };
  const compared = (rev, place) =>
    rev === meta._rev
      ? 'this one'
      : el(
          'button',
          { click: attempt(async () => place.replaceChildren(beside(await revision(rev), stored, [rev, 'now']))) },
          'Compare',
        );
  /** For a document that is deleted. */
  const restored = (rev, place) =>
    el(
      'span',
      { class: 'bar' },
      el(
        'button',
        { click: attempt(async () => place.replaceChildren(el('pre', { class: 'whole' }, await revision(rev)))) },
        'Show',
      ),
      confirm('Restore', `${id} becomes again what it was in revision ${rev}.`, async () => {
        needsSaved();
        const body = await couch('GET', at, { rev, attachments: true });
        const done = JSON.parse(await couch('PUT', at, {}, withoutRevision(body)));
        await load();
        said.textContent = `Restored as ${done.rev}.`;
      }),
    );

  /** Asks before edits are lost. */
  const reload = attempt(async () => {
    if (!changed()) {
      await load();
      return;
    }
    ask('Reload', 'The edits that are not saved are lost.', load);
  });

  /** Shows what is known of a deleted document. */
  const loadDeleted = async () => {
    const rev = await tombstone(at);
    meta = JSON.parse(await couch('GET', at, { rev, revs_info: true }));
    if (stopped) return;
    stored = editor.value = pretty(JSON.stringify({ _id: id }));
    editor.hidden = editor.readOnly = false;
    wrong.textContent = '';
    said.textContent = standing = 'The document is deleted. What is saved here, or restored below, is its next revision.';
    tools.replaceChildren(el('button', { click: save }, 'Save'), el('button', { click: reload }, 'Reload'));
    more.replaceChildren(history(restored));
  };

  const load = async () => {
    editor.readOnly = id !== null && !stored; // what is typed now would be lost
    if (id === null) {
      stored = editor.value = '{\n  \n}';
      return;
    }
    let body, info;
    try {
      [body, info] = await Promise.all([couch('GET', at), couch('GET', at, { conflicts: true, revs_info: true })]);
    } catch (e) {
      if (!isDeleted(e) || local || stopped) throw e;
      await loadDeleted();
      return;
    }
    if (stopped) return;
    wrong.textContent = '';
    meta = JSON.parse(info);
    stored = pretty(body);
    const long = body.length > maxEdited;
    editor.value = long ? '' : stored;
    editor.hidden = long;
    editor.readOnly = false;
    said.textContent = standing = long ? `The document has ${bytes(body.length)}, too much to edit here.` : '';
    tools.replaceChildren(
      long ? el('a', { href: at, download: `${id}.json` }, 'Download') : el('button', { click: save }, 'Save'),
      el('button', { click: reload }, 'Reload'),
      confirm('Delete', `${id} is deleted.${local ? '' : ' Its revisions stay until compaction.'}`, async () => {
        await couch('DELETE', at, { rev: meta._rev });
        stored = editor.value;
        location.hash = link(['databases', name, 'docs'], '').getAttribute('href');
      }),
    );
    more.replaceChildren(
      ...[(meta._conflicts || []).length && !long ? conflicts() : ''],
      ...(local ? [] : [attachments(), long ? '' : history(compared)]),
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
  const end = () => {
    stopped = true;
  };
  return Object.assign(end, { unsaved: changed });
};
