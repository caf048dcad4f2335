// One document: its text to edit, its conflicts beside each other, its history, and its attachments.
import { el, press, dim, content, named, shown, section, text, bytes, count, link, redraw } from './dom.js';
import { table } from './table.js';
import { couch, later, onReturn, path } from './source.js';
import { pretty, compare } from './json.js';
import { ask, confirm } from './actions.js';
import { recovering, trouble } from './recovery.js';

const maxEdited = 2e6, // bytes; longer ones are only downloaded
  readable = 3000, // what is wrong stays so long
  someRevisions = 50, // that are listed at first, and then each time
  askEvery = 5000; // whether another revision is stored

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

const number = rev => Number(rev.split('-')[0]);

/** Sorts revisions as the server does: of those that are not deleted, readers get the first one. */
const sorted = revs => [...revs].sort((a, b) => number(b) - number(a) || (a < b ? 1 : -1));

/** The revision by which a document is deleted. */
const tombstone = async at => {
  const found = JSON.parse(await couch('GET', at, { open_revs: 'all' }));
  return sorted(found.map(f => f.ok && f.ok._rev).filter(Boolean))[0];
};

/** The revisions of a document that are neither deleted nor followed by others. */
const leaves = doc => sorted([doc._rev, ...(doc._conflicts || [])]);

/** Some revisions, and that they are deleted. */
const areDeleted = revs =>
  revs.length === 1
    ? `Revision ${revs[0]} is deleted.`
    : `Revisions ${revs.slice(0, -1).join(', ')} and ${revs[revs.length - 1]} are deleted.`;

/** Two texts beside each other, with marks where they differ. */
const beside = (left, right, titles) =>
  el(
    'table',
    { class: 'diff', 'aria-label': titles.join(' and ') },
    el('thead', {}, el('tr', {}, titles.map(t => el('th', { scope: 'col' }, t)))),
    el(
      'tbody',
      {},
      compare(left, right).map(([a, b, same]) =>
        el(
          'tr',
          { class: same ? null : 'changed' },
          el('td', { 'data-name': titles[0] }, el('code', {}, content(a ?? ''))),
          el('td', { 'data-name': titles[1] }, el('code', {}, content(b ?? ''))),
        ),
      ),
    ),
  );

export const documentPage = (place, say, name, id) => {
  const at = id === null ? null : path(name, id),
    local = id !== null && id.startsWith('_local/'); // it has no attachments, conflicts and history
  let stopped = false,
    stored = '', // what the editor had at first
    meta = {},
    standing = '', // what is so of the document, whatever was done last
    saving = false,
    cancelLook = () => {},
    passes = () => {}, // gives up waiting for the end of an outage in which something was not done
    loading = false; // what is shown may not be what is stored
  const pairs = []; // that are read
  const said = el('p', { role: 'status', class: 'dim' }),
    wrong = el('p', { role: 'alert', class: 'bad' });
  const editor = el('textarea', {
    class: 'editor',
    rows: 18,
    spellcheck: 'false',
    'aria-label': 'The document as JSON',
  });
  const more = el('div'),
    newer = el('p', { role: 'status' }),
    tools = el('div', { class: 'bar' });
  /** Says no longer that something was not done in an outage when that has passed. */
  const untilBack = () => {
    passes();
    const over = () => {
      if (!stopped) wrong.textContent = '';
      if (!stopped && changed()) said.textContent = 'It answers again. Click Save once more to store the edits.';
    };
    const asking = recovering(
      async () => {
        await couch('GET', path(name));
        over();
      },
      (_, again) => {
        if (!again) over(); // an error is an answer too
      },
      () => {},
    );
    const cancel = later(asking, readable),
      edits = () => {
        passes();
        wrong.textContent = '';
      };
    editor.addEventListener('input', edits, { once: true });
    passes = () => {
      cancel();
      asking.ends();
      editor.removeEventListener('input', edits);
    };
  };
  /** A listener that does some work and says what is wrong. The control that was used waits for it. */
  const attempt = work => async e => {
    const used = e && e.currentTarget;
    passes();
    wrong.textContent = '';
    said.textContent = standing;
    if (used) used.disabled = true;
    try {
      await work();
    } catch (e) {
      if (!stopped) wrong.textContent = shown(e.message);
      if (!stopped && e.outage) untilBack();
    } finally {
      if (used) used.disabled = false;
    }
  };

  const revision = async rev => pretty(await couch('GET', at, { rev }));
  /** Whether there are edits that are not saved. */
  const changed = () => !editor.hidden && editor.value !== stored;

  const write = async () => {
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
        return true;
      }
      await load(`Saved as ${done.rev}.`);
    } catch (e) {
      if (e.status === 412)
        throw new Error(
          `${e.message} Its attachments are deleted: reload and restore the document, or remove “_attachments” here.`,
        );
      if (e.status !== 409) throw e;
      if (id === null) throw new Error('A document with this id exists already.');
      await dispute();
    } finally {
      editor.readOnly = loading;
    }
    return false;
  };
  const saver = press('Save', () => save());
  /** Saves once, however often it is asked for: another time it would be another document, or a conflict with itself. */
  const save = attempt(async () => {
    if (saving) return;
    let left = false; // the page is that of the new document
    saving = saver.disabled = true;
    saver.textContent = 'Saving…';
    try {
      left = await write();
    } finally {
      saving = saver.disabled = left;
      saver.textContent = 'Save';
    }
  });

  /** Shows what somebody else has made of the document, and lets one of both be kept. It returns whether it is there. */
  const differing = async () => {
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
          press(theirs ? 'Take theirs' : 'Leave it deleted', attempt(async () => {
            more.replaceChildren();
            await load();
          })),
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
    return theirs !== '';
  };
  const dispute = async () => {
    const other = await differing();
    throw new Error(`Not saved: the document ${other ? 'has another revision now' : 'is deleted now'}.`);
  };
  /** Says whether another revision is stored than what is shown, and leads to it. Edits stay. */
  const look = async () => {
    cancelLook();
    const were = meta._rev;
    try {
      if (were && !saving && !loading && !document.hidden) {
        const [found] = JSON.parse(await couch('GET', path(name, '_all_docs'), { key: JSON.stringify(id) })).rows;
        if (stopped) return;
        if (found?.id === id && were === meta._rev && !saving && !loading) announce(found.value);
      }
    } catch {
      /* it is asked again */
    }
    if (!stopped) cancelLook = later(look, askEvery);
  };
  const announce = ({ rev, deleted }) => {
    const same = deleted ? !!meta._deleted : rev === meta._rev;
    if (same) {
      newer.replaceChildren();
      return;
    }
    redraw(
      newer,
      el(
        'span',
        { class: 'warn' },
        deleted ? 'The document was deleted meanwhile. ' : `Revision ${rev} is stored meanwhile. `,
      ),
      press('Show it', attempt(async () => {
        if (!changed()) await load();
        else await differing();
        newer.replaceChildren();
      })),
    );
  };

  /** For what makes a new revision, which is then shown: edits of the one before would be lost. */
  const needsSaved = () => {
    if (changed()) throw new Error('Save your edits first, or reload the document.');
  };
  /** Deletes some revisions, unless there are others now than when somebody has chosen kept. */
  const keep = (kept, lost) => {
    const were = leaves(meta).join();
    return async () => {
      needsSaved();
      const now = JSON.parse(await couch('GET', at, { conflicts: true }));
      if (leaves(now).join() !== were)
        throw new Error('The revisions have changed meanwhile. Reload the document and choose again.');
      const docs = lost.map(_rev => ({ _id: id, _rev, _deleted: true })),
        done = JSON.parse(await couch('POST', path(name, '_bulk_docs'), {}, JSON.stringify({ docs }))),
        failed = done.find(d => d.error);
      const reads = JSON.parse(await couch('GET', at))._rev;
      await load(`Readers get ${reads} now.`);
      if (failed) throw new Error(`Not all was deleted: ${failed.reason || failed.error} Readers get ${reads} now.`);
      if (reads !== kept) throw new Error(`The document has changed meanwhile: readers get ${reads} now.`);
    };
  };
  const attach = async f => {
    said.textContent = `Attaching ${f.name}…`;
    try {
      await couch('PUT', path(name, id, f.name), { rev: meta._rev }, f, f.type || 'application/octet-stream');
    } catch (e) {
      said.textContent = standing;
      throw e;
    }
    await load(`${f.name} is attached.`);
  };
  const attachments = () => {
    const list = Object.entries(meta._attachments || {});
    const file = el('input', {
      type: 'file',
      'aria-label': 'A file to attach',
      change: attempt(async () => {
        const f = file.files[0];
        file.value = ''; // the same file can be chosen again
        if (!f) return;
        needsSaved();
        const old = list.find(([n]) => n === f.name);
        if (!old) {
          await attach(f);
          return;
        }
        ask(
          'Replace',
          `${f.name} is attached already, with ${bytes(old[1].length)}. The file with ${bytes(f.size)} replaces it.`,
          () => attach(f),
        );
      }),
    });
    return section(
      'Attachments',
      list.length
        ? table(
            'Attachments',
            [
              { title: 'Name', cell: ([n]) => el('a', { href: path(name, id, n), download: n }, named(n)) },
              { title: 'Type', cell: ([, a]) => text(a.content_type) },
              { title: 'Size', cell: ([, a]) => bytes(a.length), number: true },
              {
                title: 'Actions',
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
  /** The pair of what readers get and another revision, and buttons to keep one of both. */
  const pair = rev => {
    const box = el('div', {}, 'Loading…'),
      over = leaves(meta).slice(0, leaves(meta).indexOf(rev)); // what readers get rather than it
    const draw = recovering(
      async () => {
        const other = await revision(rev);
        if (stopped) return;
        box.replaceChildren(
          el(
            'p',
            { class: 'bar' },
            confirm(
              'Keep the left one',
              `${areDeleted([rev])} Readers get the left one, ${meta._rev}, as before.`,
              keep(meta._rev, [rev]),
            ),
            confirm(
              'Keep the right one',
              `${areDeleted(over)} Readers then get the right one, ${rev}.`,
              keep(rev, over),
            ),
          ),
          beside(stored, other, [meta._rev, rev]),
        );
      },
      e => box.replaceChildren(trouble(e, () => draw())),
      () => {},
    );
    pairs.push(draw);
    draw();
    return box;
  };
  const conflicts = () =>
    section(
      `${meta._conflicts.length} ${meta._conflicts.length === 1 ? 'conflict' : 'conflicts'}`,
      el(
        'p',
        { class: 'dim' },
        'Edits that did not know of each other. Readers get the left one; keeping it deletes the right one. Keeping the ' +
          'right one deletes all that readers would get rather than it.',
      ),
      sorted(meta._conflicts).map(pair),
    );
  /** The revisions that are known. choose returns what can be done with one whose text is there. */
  const history = choose => {
    const shown = el('div'),
      all = meta._revs_info || [],
      list = el('div');
    const show = n =>
      redraw(
        list,
        table(
          'History',
          [
            { title: 'Revision', cell: r => el('code', {}, r.rev) },
            {
              title: 'Text',
              cell: r =>
                r.status === 'available' ? choose(r.rev, shown) : dim(text(r.status)),
            },
          ],
          all.slice(0, n),
        ),
        n < all.length
          ? el(
              'div',
              { class: 'pages' },
              `${count(n)} of ${count(all.length)} revisions`,
              press('more', () => show(n + someRevisions)),
            )
          : '',
      );
    show(someRevisions);
    return section('History', list, shown);
  };
  const compared = (rev, place) =>
    rev === meta._rev
      ? 'this one'
      : press('Compare', attempt(async () => place.replaceChildren(beside(await revision(rev), stored, [rev, 'now']))));
  /** For a document that is deleted. */
  const restored = (rev, place) =>
    el(
      'span',
      { class: 'bar' },
      press('Show', attempt(async () => {
        place.replaceChildren(el('pre', { class: 'whole' }, content(await revision(rev))));
      })),
      confirm('Restore', `${id} becomes again what it was in revision ${rev}.`, async () => {
        needsSaved();
        const body = await couch('GET', at, { rev, attachments: true });
        const done = JSON.parse(await couch('PUT', at, {}, withoutRevision(body)));
        await load(`Restored as ${done.rev}.`);
      }),
    );

  /** Asks before edits are lost. */
  const reload = attempt(async () => {
    if (!changed()) {
      await load();
      return;
    }
    ask('Reload', 'The edits that are not saved are lost.', () => load());
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
    tools.replaceChildren(saver, press('Reload', reload));
    more.replaceChildren(history(restored));
  };

  const draw = async () => {
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
      long ? el('a', { href: at, download: `${id}.json` }, 'Download') : saver,
      press('Reload', reload),
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
  const reading = recovering(
    async () => {
      pairs.splice(0).forEach(p => p.ends());
      editor.readOnly = loading = id !== null; // what is typed now would be lost
      await draw();
      editor.readOnly = loading = false;
    },
    (e, again) => {
      editor.readOnly = loading = again || !(e.status < 500); // there is another document than what is shown
      const none = e.message === 'missing' && tools.childNodes.length === 0;
      editor.hidden = none && !again;
      wrong.textContent = !none
        ? shown(e.message)
        : `${named(id)} is missing: no document of ${named(name)} has this id. Look among similar ones, or make it.`;
      if (none)
        tools.append(
          link(['databases', name, 'docs'], 'similar ids', { from: id.slice(0, 3) }),
          link(['databases', name, 'new'], '+ new document'),
        );
      if (none || tools.childNodes.length === 0) tools.append(press('Retry', () => load()));
    },
    say,
  );
  /** Shows what is stored, now or when the store answers again. done is what was done before, which stays done. */
  const load = async (done = '') => {
    wrong.textContent = '';
    newer.replaceChildren();
    await reading();
    if (!stopped && done) said.textContent = done;
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
      newer,
      editor,
      said,
      wrong,
      tools,
    ),
    more,
  );
  if (id === null)
    tools.append(saver, dim('Without “_id” the server makes one.'));
  load();
  if (id !== null && !local) cancelLook = later(look, askEvery);
  const forgets = onReturn(() => {
    wrong.textContent = ''; // that the session has ended
  });
  const end = () => {
    stopped = true;
    cancelLook();
    forgets();
    reading.ends();
    passes();
    pairs.forEach(p => p.ends());
  };
  return Object.assign(end, {
    losing: () => changed() && ['Leave without saving', 'The document has edits that are not saved. They are lost.'],
  });
};
