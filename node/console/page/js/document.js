// One document: its text to edit, its conflicts beside each other, its history, and its attachments.
import {
  el, press, bar, dim, content, named, shown, section, text, bytes, count, plural, link, to, redraw, speak, tell,
  failure,
} from './dom.js';
import { table, col, num } from './table.js';
import { couch, couchJSON, later, onReturn, path } from './source.js';
import { pretty, compare } from './json.js';
import { ask, confirm } from './actions.js';
import { recovering, trouble } from './recovery.js';

const maxEdited = 2e6, // bytes; longer ones are only downloaded
  readable = 3000, // what is wrong stays so long
  someRevisions = 50, // that are listed at first, and then each time
  askEvery = 5000, // whether another revision is stored
  danger = { class: 'danger' },
  back = 'It answers again. Click Save once more to store the edits.';

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

/** And not that it never was. */
const isDeleted = e => e.status === 404 && e.message === 'deleted';

const number = rev => Number(rev.split('-')[0]);

/** Sorts revisions as the server does: of those that are not deleted, readers get the first one. */
const sorted = revs => [...revs].sort((a, b) => number(b) - number(a) || (a < b ? 1 : -1));

/** The leaves of a document, deleted ones too, without what they have. */
const allLeaves = async at =>
  (await couchJSON('GET', at, { open_revs: 'all', revs: true })).flatMap(({ ok }) => ok || []);

/** Whether a leaf is what deletes a revision. */
const deletes = ({ _deleted, _revisions: { start, ids } }, rev) =>
  _deleted && ids[start - number(rev)] === rev.split('-')[1];

/** The revisions of a document that are neither deleted nor followed by others. */
const leaves = doc => sorted([doc._rev, ...(doc._conflicts || [])]);

const areDeleted = revs =>
  revs.length === 1
    ? `Revision ${revs[0]} is deleted.`
    : `Revisions ${revs.slice(0, -1).join(', ')} and ${revs[revs.length - 1]} are deleted.`;

const someLeaves = 3; // that a question names

/** Shows something in a place, which may be far below. */
const bring = (place, e) => {
  place.replaceChildren(e);
  e.tabIndex = -1;
  e.focus();
  e.scrollIntoView({ block: 'nearest' });
};

/** Two texts beside each other, with marks where they differ. */
const beside = (left, right, titles) =>
  el('table', { class: 'diff', 'aria-label': titles.join(' and ') },
    el('thead', {}, el('tr', {}, titles.map(t => el('th', { scope: 'col' }, t)))),
    el('tbody', {},
      compare(left, right).map(([a, b, same]) =>
        el('tr', { class: same ? null : 'changed' },
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
  const said = el('p', { class: 'dim' }),
    wrong = failure();
  const editor = el('textarea', {
    class: 'editor', rows: 18, spellcheck: 'false', 'aria-label': 'The document as JSON',
  });
  const more = el('div'),
    newer = el('p', { role: 'status' }),
    tools = bar(),
    hint = dim('Without “_id” the server makes one.');
  const note = words => {
    said.textContent = shown(words);
    speak(words);
  };
  /** Says no longer that something was not done in an outage when that has passed, nor that it has in another one. */
  const untilBack = () => {
    passes();
    const over = () => {
      wrong.textContent = '';
      if (!changed()) return;
      if (said.textContent !== back) note(back);
      cancel = later(asking, askEvery);
    };
    const asking = recovering(
      async current => {
        await couch('GET', path(name));
        if (current()) over();
      },
      (_, again) => {
        if (!again) over(); // an error is an answer too
        else if (said.textContent === back) note(standing);
      },
      () => {},
    );
    let cancel = later(asking, readable);
    const edits = () => {
      passes();
      wrong.textContent = '';
      said.textContent = standing;
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
    speak('');
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
      const done = await couchJSON(target === path(name) ? 'POST' : 'PUT', target, {}, body);
      stored = editor.value;
      if (id === null) {
        location.hash = to(['databases', name, 'doc', done.id]);
        tell(`${done.id} is created.`);
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
      section(`Someone has ${theirs ? 'changed' : 'deleted'} the document meanwhile`,
        bar(press(theirs ? 'Take theirs' : 'Leave it deleted', attempt(async () => {
            more.replaceChildren();
            await load();
          })),
          press('Save mine over it', attempt(async () => {
            editor.value = theirs ? withRevision(editor.value, rev) : withoutRevision(editor.value);
            await save();
          }), danger),
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
        const [found] = (await couchJSON('GET', path(name, '_all_docs'), { key: JSON.stringify(id) })).rows;
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
    redraw(newer,
      el('span', { class: 'warn' },
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
  /** The leaves now. None if the document is deleted. */
  const leavesNow = async () => {
    try {
      return leaves(await couchJSON('GET', at, { conflicts: true }));
    } catch (e) {
      if (isDeleted(e)) return [];
      throw e;
    }
  };
  /** Leads to other leaves than those that are shown, and throws an error that says what has become of the first. */
  const refuse = async ([was], now) => {
    if (was !== now[0]) announce({ rev: now[0], deleted: !now.length });
    const gone = !now.includes(was) && (await allLeaves(at)).some(l => deletes(l, was));
    throw new Error(
      (!gone
        ? 'The revisions have changed meanwhile.'
        : now.length
          ? `Revision ${was} is deleted already, and readers get ${now[0]}.`
          : `${id} is deleted already.`) + ' Nothing was done: reload the document and choose again.',
    );
  };
  /**
   * Deletes some revisions, unless there are others now than when somebody has chosen kept, or '' if none is kept.
   * again, if given, asks anew if the first one is the same.
   */
  const keep = (kept, lost, again) => {
    const were = leaves(meta);
    return async () => {
      if (kept) needsSaved();
      const found = await leavesNow();
      if (found.join() !== were.join()) {
        if (!again || stopped || found[0] !== were[0]) await refuse(were, found);
        again(found, 'The revisions have changed meanwhile, and nothing was done. ');
        return '';
      }
      const docs = lost.map(_rev => ({ _id: id, _rev, _deleted: true })),
        done = await couchJSON('POST', path(name, '_bulk_docs'), {}, JSON.stringify({ docs })),
        failed = done.find(d => d.error),
        [reads = ''] = await leavesNow(),
        now = reads ? `${areDeleted(lost)} Readers get ${reads} now.` : `${id} is deleted.`;
      if (!stopped && (reads || kept)) await load(failed ? '' : now);
      if (failed)
        throw new Error(`Not all was deleted: ${failed.reason || failed.error} Readers get ${reads || 'nothing'} now.`);
      if (reads !== kept) throw new Error(`The document has changed meanwhile. ${now}`);
      if (!reads) gone();
      return now;
    };
  };
  const gone = () => {
    stored = editor.value;
    if (!stopped) location.hash = to(['databases', name, 'docs']);
  };
  /** Asks whether the document is to be deleted, and which of its leaves: the next one would be the winner. */
  const question = (all, before = '') => {
    if (all.join() !== leaves(meta).join()) {
      meta._conflicts = all.slice(1);
      below();
    }
    const [one, next] = all,
      others = all.length - 1,
      names = all.slice(1, 1 + someLeaves).join(', ') + (others > someLeaves ? ', …' : ''),
      unsaved = changed() ? ' Edits that are not saved are lost.' : '',
      end = local ? unsaved : ` Revisions stay until compaction.${unsaved}`;
    if (local)
      ask('Delete', `${id} is deleted.${end}`, async () => {
        await couch('DELETE', at, { rev: one });
        gone();
        return `${id} is deleted.`;
      });
    else if (!others) ask('Delete', `${before}${id} is deleted.${end}`, keep('', all, question));
    else
      ask('Delete',
        `${before}${id} has ${plural(others, 'conflicting revision')}: ${names}. If only ${one} is deleted, ${next} ` +
          `is the winner: readers get it then.${end}`,
        keep('', all, question),
        undefined,
        {
          go: `Delete all ${count(all.length)} revisions`,
          more: { 'Delete only this one': keep(next, [one], question) },
        },
      );
  };
  const remove = attempt(async () => {
    const all = local ? leaves(meta) : await leavesNow();
    if (stopped) return;
    if (all[0] !== meta._rev) await refuse([meta._rev], all);
    question(all);
  });
  const attach = async f => {
    note(`Attaching ${f.name}…`);
    try {
      await couch('PUT', path(name, id, f.name), { rev: meta._rev }, f, f.type || 'application/octet-stream');
    } catch (e) {
      said.textContent = standing;
      throw e;
    }
    return load(`${f.name} is attached.`);
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
        ask('Replace',
          `${f.name} is attached already, with ${bytes(old[1].length)}. The file with ${bytes(f.size)} replaces it.`,
          () => attach(f),
        );
      }),
    });
    return section('Attachments',
      list.length
        ? table('Attachments',
            [
              col('Name', ([n]) => el('a', { href: path(name, id, n), download: n }, named(n))),
              col('Type', ([, a]) => a.content_type),
              num('Size', ([, a]) => bytes(a.length)),
              col('Actions',
                ([n]) =>
                  confirm('Remove', `${n} is removed from the document.`, async () => {
                    needsSaved();
                    await couch('DELETE', path(name, id, n), { rev: meta._rev });
                    return load(`${n} is removed.`);
                  }),
              ),
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
          bar(confirm('Keep the left one', `${areDeleted([rev])} Readers get the left one, ${meta._rev}, as before.`,
              keep(meta._rev, [rev]),
            ),
            confirm('Keep the right one', `${areDeleted(over)} Readers then get the right one, ${rev}.`,
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
    section(`${meta._conflicts.length} ${meta._conflicts.length === 1 ? 'conflict' : 'conflicts'}`,
      el('p', { class: 'dim' },
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
      redraw(list,
        table('History',
          [
            col('Revision', r => el('code', {}, r.rev)),
            col('Text', r => r.status === 'available' ? choose(r.rev, shown) : dim(r.status)),
          ],
          all.slice(0, n),
        ),
        n < all.length
          ? el('div', { class: 'pages' }, `${count(n)} of ${count(all.length)} revisions`,
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
      : press('Compare', attempt(async () => bring(place, beside(await revision(rev), stored, [rev, 'now']))));
  const restored = (rev, place) =>
    el('span', { class: 'bar' },
      press('Show', attempt(async () => {
        bring(place, el('pre', { class: 'whole' }, content(await revision(rev))));
      })),
      confirm('Restore', `${id} becomes again what it was in revision ${rev}.`, async () => {
        needsSaved();
        const body = await couch('GET', at, { rev, attachments: true });
        const done = await couchJSON('PUT', at, {}, withoutRevision(body));
        return load(`Restored as ${done.rev}.`);
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

  const loadDeleted = async () => {
    const [rev] = sorted((await allLeaves(at)).map(l => l._rev));
    meta = await couchJSON('GET', at, { rev, revs_info: true });
    if (stopped) return;
    stored = editor.value = pretty(JSON.stringify({ _id: id }));
    editor.hidden = editor.readOnly = false;
    wrong.textContent = '';
    note((standing = 'The document is deleted. What is saved here, or restored below, is its next revision.'));
    tools.replaceChildren(saver, press('Reload', reload));
    more.replaceChildren(history(restored));
  };

  const draw = async () => {
    if (id === null) {
      stored = editor.value = '{\n  \n}';
      return;
    }
    let body, known;
    try {
      [body, known] = await Promise.all([couch('GET', at), couchJSON('GET', at, { conflicts: true, revs_info: true })]);
    } catch (e) {
      if (!isDeleted(e) || local || stopped) throw e;
      await loadDeleted();
      return;
    }
    if (stopped) return;
    wrong.textContent = '';
    meta = known;
    stored = pretty(body);
    const long = body.length > maxEdited;
    editor.value = long ? '' : stored;
    editor.hidden = long;
    editor.readOnly = false;
    said.textContent = standing = long ? `The document has ${bytes(body.length)}, too much to edit here.` : '';
    tools.replaceChildren(
      long ? el('a', { href: at, download: `${id}.json` }, 'Download') : saver,
      press('Reload', reload),
      press('Delete', () => remove(), danger),
    );
    below();
  };
  /** What is below the text: conflicts, attachments and history. */
  const below = () => {
    more.replaceChildren(
      (meta._conflicts || []).length && !editor.hidden ? conflicts() : '',
      ...(local ? [] : [attachments(), editor.hidden ? '' : history(compared)]),
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
    if (!stopped && done) note(done);
    return done;
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
    tools.append(saver, hint);
  load();
  if (id === null)
    couchJSON('GET', path(name)).then(info => {
      if (info.props?.partitioned) hint.textContent = 'It needs an “_id” with its partition: "partition:id".';
    }, () => {});
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
