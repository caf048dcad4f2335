// The databases, or one of them.
import {
  el, press, none, dim, bad, bar, tell, shown, section, text, time, known, count, plural, bytes, measure, link, to,
  redraw, toDatabase, failure, endOf,
} from './dom.js';
import { list, table, col, num } from './table.js';
import { ask, confirm, button } from './actions.js';
import { act, couch, couchJSON, deleteDatabase, onActed, path, read } from './source.js';
import { shardColumns, indexColumns, teachIndex } from './lists.js';
import { eventsOf } from './stories.js';
import { documents } from './documents.js';
import { failures } from './failures.js';
import { spark } from './plot.js';
import { recovering } from './recovery.js';

const rate = (v, line, what) => [spark(line, what, '/s'), v ? measure(v, '/s') : dim('0')];

const figure = (title, sort, show, extra) => num(title, d => known(d[sort], v => show(v, d)), sort, extra);

const columns = [
  col('Database', d => [toDatabase(d.name), d.error ? bad(` ${d.error}`) : ''], 'name'),
  figure('Documents', 'docs', (n, d) => link(['databases', d.name, 'docs'], count(n))),
  figure('Deleted', 'deleted', count, true),
  figure('Size', 'bytes', bytes),
  figure('Shards', 'shards', count, true),
  figure('Indexes', 'indexes', (n, d) => link(['indexes'], count(n), { search: d.name }), true),
  figure('Writes', 'writes', (v, d) => rate(v, d.write_line, `${d.name}: documents written`)),
  figure('Refused writes', 'refused', v => rate(v), true),
  figure('Reads', 'reads', v => rate(v), true),
  figure('Feed rows', 'feed', (v, d) => rate(v, d.feed_line, `${d.name}: feed rows`)),
];

const deletedAt = columns.findIndex(c => c.sort === 'deleted'),
  askEvery = 5000, // ms between two questions about the databases that a list shows, at least
  askSeldom = 60000, // at most, while there are no answers or nobody looks
  askedWithin = 65000; // for one that somebody has asked for

/**
 * How many documents are in conflict, of the databases that a list shows: its columns, seen, for option read of a list,
 * and ends. The node counts those of small databases that have changed, when it is asked, and others on a click.
 */
const conflictsOfAll = () => {
  const counted = new Map(); // Conflicts by database, with counting
  let rows = [],
    again = () => {},
    answered = '', // the figures of the rows that the answer is about
    timer = 0,
    last = 0,
    pause = askEvery,
    asking = false,
    stopped = false;
  const figures = () => JSON.stringify(rows.map(d => [d.name, d.docs, d.deleted, d.bytes, d.error]));
  const show = () => {
    if (!stopped) again();
  };
  const learn = c => counted.set(c.database, c);
  const ask = async () => {
    timer = 0;
    last = Date.now();
    const about = figures(),
      names = rows.map(d => d.name);
    asking = true;
    try {
      const found = (await read('conflicts', { database: names })).databases;
      found.forEach(learn);
      pause = askEvery;
      // Otherwise some were not read in time, or not again.
      if (found.length === names.length && found.every(c => !c.at || c.large)) answered = about;
    } catch {
      pause = Math.min(askSeldom, 2 * pause); // the list says that the node or the store does not answer
    }
    asking = false;
    show();
  };
  const plan = () => {
    if (stopped || asking || timer || !rows.length || figures() === answered) return;
    timer = setTimeout(ask, Math.max(0, last + (document.hidden ? askSeldom : pause) - Date.now()));
  };
  const countOne = async name => {
    const before = counted.get(name);
    counted.set(name, { ...before, counting: true, error: '' });
    show();
    try {
      (await read('conflicts', { database: name, asked: true }, askedWithin)).databases.forEach(learn);
    } catch (e) {
      counted.set(name, { ...before, error: e.message });
    }
    show();
  };
  const cell = d => {
    const c = d.conflicts;
    if (!c) return dim('–');
    if (c.counting) return dim('counting …');
    const n =
      c.documents === undefined
        ? ''
        : c.documents
          ? link(['databases', d.name, 'docs'], count(c.documents), { show: 'conflicts' })
          : '0';
    if (n && !c.at) return n;
    if (c.error && !c.entries) return el('span', { class: 'dim', title: text(c.error) }, '–');
    const old = n ? [n, dim(' ', time(c.at), ' ')] : '';
    if (n && !c.large) return old;
    return [
      old,
      press('count', () => countOne(d.name), {
        title: `reads ${plural(c.entries, 'document')}`,
        'aria-label': `Count documents in conflict in ${d.name}`,
      }),
      c.error ? bad(` ${c.error}`) : '',
    ];
  };
  return {
    columns: [
      ...columns.slice(0, deletedAt),
      { title: 'In conflict', cell, number: true },
      ...columns.slice(deletedAt),
    ],
    seen: (p, showAgain) => {
      again = showAgain;
      rows = p.rows;
      const names = new Set(rows.map(d => d.name));
      for (const name of counted.keys()) if (!names.has(name)) counted.delete(name); // asked for again a page back
      for (const d of rows) d.conflicts = counted.get(d.name);
      plan();
    },
    ends: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
};

const unheard = () => none('No one listens to its changes.');

const create = () => {
  const name = el('input', { placeholder: 'name', 'aria-label': 'Name of a new database' }),
    go = el('button', {}, 'Create a database'),
    said = el('span', { role: 'alert', class: 'bad' });
  return el('form',
    {
      class: 'bar',
      submit: async e => {
        e.preventDefault();
        if (go.disabled) return;
        said.textContent = '';
        go.disabled = true; // a second click would be told that the database exists
        try {
          await couch('PUT', path(name.value));
          location.hash = to(['databases', name.value]);
          tell(`${name.value} is created.`);
        } catch (problem) {
          said.textContent = shown(problem.message);
          go.disabled = false;
        }
      },
    },
    name,
    go,
    said,
  );
};

/** The maps of a database's changes shards, from the first one. */
const mapsOf = async name => (await couchJSON('GET', path(name, '_changes', '_meta'), { since: '0' })).maps;

/**
 * How the number of changes shards has changed: know, which takes how many there are, and ends. It is read again when
 * that changes, and after an action. changed gets the number at first, and when it changes.
 */
const reshards = (place, name, changed) => {
  const box = el('div');
  place.append(box);
  const load = recovering(
    async current => {
      const maps = await mapsOf(name);
      if (!current() || maps.length < 2) return;
      redraw(box,
        section('History of the changes shards',
          table('History of the changes shards',
            [
              col('From sequence', m => el('code', {}, m.since === '0' ? 'the beginning' : m.since)),
              num('Shards', m => count(m.shards.length)),
              col('Their names', m => [...m.shards].sort((a, b) => a - b).map(text).join(', ')),
              col('State', m => (m.tombstone ? dim('replaced') : 'in use')),
            ],
            maps,
          ),
          el('p', {}, link(['events'], 'when, and by whom', { search: `resharded ${name}` })),
        ),
      );
    },
    () => {}, // the database's own row says what is wrong with it
    () => {},
  );
  load();
  const stays = onActed(load);
  let known;
  return {
    know: shards => {
      if (shards === undefined || known === shards) return;
      if (known !== undefined) load();
      known = shards;
      changed(shards);
    },
    ends: () => {
      stays();
      load.ends();
    },
  };
};

/** The most shards that a database may have. */
const mostShards = async () => {
  const name = 'changes.max_shards',
    { rows } = await read('settings', { search: name }).catch(() => ({ rows: [] }));
  return Number(rows.find(s => s.name === name)?.value) || 64;
};

/** Reshards a database, if the number that is given makes sense and is not that of now. */
const reshard = async (name, given) => {
  const wanted = given.trim() === '' ? NaN : Number(given),
    here = location.hash;
  const [maps, most] = await Promise.all([mapsOf(name), mostShards()]);
  const now = maps.find(m => !m.tombstone)?.shards.length;
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > most)
    throw new Error(`The number of shards is a whole number from 1 to ${most}.`);
  if (now === wanted) throw new Error(`${name} has ${plural(wanted, 'shard')} already.`);
  if (location.hash !== here) return;
  ask('Reshard',
    `New changes of ${name} go to ${plural(wanted, 'shard')}${now ? `, and not to ${count(now)} as now` : ''}. ` +
      'Consumers of the current shards are told to follow the new ones.',
    () => act({ do: 'reshard', database: name, shards: wanted }),
  );
};

/**
 * Draws what is about a database when it is known that there is one. draw gets what was read, or nothing if the store
 * does not answer, and returns what ends it, as this does.
 */
const within = (place, name, read, draw) => {
  let drawn = null;
  const load = recovering(
    async current => {
      const found = await read(name);
      if (current()) drawn ||= draw(found);
    },
    e => {
      if (drawn || (e.status !== 404 && e.status !== 400)) drawn ||= draw(); // its lists say what is wrong with it
      else place.append(section(name, none('There is no such database. ', link(['databases'], 'All databases'))));
    },
    () => {}, // its lists say what is not up to date
  );
  load();
  return () => {
    load.ends();
    if (drawn) drawn();
  };
};

/** The page of one database. It returns what ends it. */
const one = (place, say, name) => {
  const conflicts = conflictsOfAll();
  let typed = false;
  const shards = el('input', { type: 'number', min: 1, input: () => (typed = true) }),
    wrong = failure();
  place.append(
    section(name,
      bar(link(['databases', name, 'docs'], 'documents'),
        link(['sql', name], 'SQL'),
        link(['events'], 'events', { search: name }),
        button('Compact', `Superseded revisions of ${name} are removed. Readers and writers are not disturbed.`, {
          do: 'compact',
          database: name,
        }),
        el('span', {},
          el('label', {}, 'shards ', shards),
          ' ',
          press('Reshard', async () => {
            wrong.textContent = '';
            try {
              await reshard(name, shards.value);
            } catch (e) {
              wrong.textContent = shown(e.message);
            }
          }, { class: 'danger' }),
        ),
        confirm('Delete', `${name} is deleted with all its documents and indexes. Type its name to confirm.`,
          async () => {
            await deleteDatabase(name);
            location.hash = '#/databases';
            return `${name} is deleted.`;
          },
          name,
        ),
      ),
      wrong,
    ),
  );
  const part = (view, as, caption, columns, empty, read) =>
    list(place, view, caption, columns, empty, say, { asks: true, more: { database: name }, as, read });
  const stops = [
    conflicts.ends,
    part('databases', 'figures.', 'Figures', conflicts.columns, () => none('There is no such database.'),
      (p, again) => {
        conflicts.seen(p, again);
        if (p.rows.length) shardMaps.know(p.rows[0].shards);
      }),
    part('indexes', 'indexes.', 'Indexes', indexColumns, () => teachIndex(name)),
    part('shards', 'shards.', 'Changes shards with listeners', shardColumns, unheard),
  ];
  const shardMaps = reshards(place, name, async now => {
    const twice = Math.min(2 * now, await mostShards());
    if (!typed) shards.value = twice;
  });
  stops.push(shardMaps.ends);
  return endOf(stops);
};

/** The page of one changes shard, if it is on one of the maps. It returns what ends it. */
const shardPage = (place, say, name, shard) => maps => {
  const absent = maps && !maps.some(m => m.shards.map(text).includes(shard));
  place.append(
    section(`Shard ${shard} of ${name}`,
      absent && none('There is no such shard.'),
      bar(toDatabase(name), link(['feeds'], 'its other shards', { search: name })),
    ),
  );
  if (absent) return () => {};
  const only = p => {
    p.rows = p.rows.filter(s => s.shard === shard); // of as many as there are shards and nodes
    p.total = p.rows.length;
  };
  return endOf([
    list(place, 'shards', 'Who listens to it', shardColumns, unheard, say, {
      asks: true,
      more: { database: name, limit: 500 },
      read: only,
    }),
    reshards(place, name, () => {}).ends,
    eventsOf(place, 'Events', `database:${name}/shard:${shard}`, () => 'Its actor has not failed.'),
  ]);
};

export const databases = (place, say, [name, ...rest]) => {
  if (name === undefined) {
    place.append(create());
    const conflicts = conflictsOfAll();
    const ends = list(place, 'databases', 'Databases',
      conflicts.columns,
      () => none('There is no database yet.'),
      say,
      { read: conflicts.seen },
    );
    return () => {
      conflicts.ends();
      ends();
    };
  }
  if (rest[0] === 'feeds' && rest[1]) return within(place, name, mapsOf, shardPage(place, say, name, rest[1]));
  if (rest[0] === 'failures' && rest[1]) return failures(place, say, name, rest[1]);
  if (rest.length) return documents(place, say, name, rest);
  return within(place, name, n => couch('GET', path(n)), () => one(place, say, name));
};
