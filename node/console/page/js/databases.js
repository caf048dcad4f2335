// The databases, or one of them.
import { el, shown, section, text, count, bytes, measure, link } from './dom.js';
import { list, table } from './table.js';
import { button, confirm } from './actions.js';
import { couch, path } from './source.js';
import { shardColumns, indexColumns } from './lists.js';
import { documents } from './documents.js';
import { failures } from './failures.js';
import { spark } from './plot.js';

const rate = (v, line, what) => [spark(line, what, '/s'), v ? measure(v, '/s') : el('span', { class: 'dim' }, '0')];

const columns = [
  {
    title: 'Database',
    sort: 'name',
    cell: d => [
      link(['databases', d.name], text(d.name)),
      d.error ? el('span', { class: 'bad' }, ` ${text(d.error)}`) : '',
    ],
  },
  {
    title: 'Documents',
    sort: 'docs',
    cell: d => (d.docs === undefined ? '–' : link(['databases', d.name, 'docs'], count(d.docs))),
    number: true,
  },
  {
    title: 'Deleted',
    sort: 'deleted',
    cell: d => (d.deleted === undefined ? '–' : count(d.deleted)),
    number: true,
    extra: true,
  },
  { title: 'Size', sort: 'bytes', cell: d => (d.bytes === undefined ? '–' : bytes(d.bytes)), number: true },
  {
    title: 'Shards',
    sort: 'shards',
    cell: d => (d.shards === undefined ? '–' : count(d.shards)),
    number: true,
    extra: true,
  },
  {
    title: 'Indexes',
    sort: 'indexes',
    cell: d => (d.indexes === undefined ? '–' : link(['indexes'], count(d.indexes), { search: d.name })),
    number: true,
    extra: true,
  },
  { title: 'Writes', sort: 'writes', cell: d => rate(d.writes, d.write_line, `${text(d.name)}: documents written`), number: true },
  { title: 'Conflicts', sort: 'refused', cell: d => rate(d.refused), number: true, extra: true },
  { title: 'Reads', sort: 'reads', cell: d => rate(d.reads), number: true, extra: true },
  { title: 'Feed rows', sort: 'feed', cell: d => rate(d.feed, d.feed_line, `${text(d.name)}: feed rows`), number: true },
];

const none = what => () => el('p', { class: 'none' }, what);

const create = () => {
  const name = el('input', { placeholder: 'name', 'aria-label': 'Name of a new database' }),
    said = el('span', { role: 'alert', class: 'bad' });
  return el(
    'form',
    {
      class: 'bar',
      submit: async e => {
        e.preventDefault();
        said.textContent = '';
        try {
          await couch('PUT', path(name.value));
          location.hash = link(['databases', name.value], '').getAttribute('href');
        } catch (problem) {
          said.textContent = shown(problem.message);
        }
      },
    },
    name,
    el('button', {}, 'Create a database'),
    said,
  );
};

/** How the number of changes shards has changed. */
const reshards = (place, name) => {
  let stopped = false;
  couch('GET', path(name, '_changes', '_meta'), { since: '0' }).then(
    found => {
      const maps = JSON.parse(found).maps;
      if (stopped || maps.length < 2) return;
      place.append(
        section(
          'History of the changes shards',
          table(
            'History of the changes shards',
            [
              { title: 'From sequence', cell: m => el('code', {}, m.since === '0' ? 'the beginning' : text(m.since)) },
              { title: 'Shards', cell: m => count(m.shards.length), number: true },
              { title: 'Their names', cell: m => m.shards.map(text).join(', ') },
              { title: 'State', cell: m => (m.tombstone ? el('span', { class: 'dim' }, 'replaced') : 'in use') },
            ],
            maps,
          ),
          el('p', {}, link(['events'], 'when, and by whom', { search: `resharded ${name}` })),
        ),
      );
    },
    () => {},
  ); // the database's own row says what is wrong with it
  return () => {
    stopped = true;
  };
};

export const databases = (place, say, [name, ...rest], query) => {
  if (name === undefined) {
    place.append(create());
    return list(place, 'databases', 'Databases', columns, none('There is no database yet.'), say);
  }
  if (rest[0] === 'failures') return failures(place, name, rest[1]);
  if (rest.length) return documents(place, name, rest, query);
  const shards = el('input', { type: 'number', min: 1, max: 64, value: 4, 'aria-label': 'number of shards' });
  place.append(
    section(
      name,
      el(
        'p',
        { class: 'bar' },
        link(['databases', name, 'docs'], 'documents'),
        link(['sql', name], 'SQL'),
        link(['events'], 'events', { search: name }),
        button('Compact', `Superseded revisions of ${name} are removed. Readers and writers are not disturbed.`, {
          do: 'compact',
          database: name,
        }),
        el(
          'span',
          {},
          shards,
          ' ',
          el(
            'button',
            {
              class: 'danger',
              click: () => {
                const b = button(
                  'Reshard',
                  `New changes of ${name} go to ${shards.value} shards. ` +
                    'Consumers of the current shards are told to follow the new ones.',
                  { do: 'reshard', database: name, shards: Number(shards.value) },
                );
                b.click();
              },
            },
            'Reshard',
          ),
        ),
        confirm(
          'Delete',
          `${name} is deleted with all its documents and indexes. Type its name to confirm.`,
          async () => {
            await couch('DELETE', path(name));
            location.hash = '#/databases';
          },
          name,
        ),
      ),
    ),
  );
  const stops = [
    list(place, 'databases', 'Figures', columns, none('There is no such database.'), say, name, true),
    list(
      place,
      'indexes',
      'Indexes',
      indexColumns,
      none('No index of this database was used recently.'),
      say,
      name,
      true,
    ),
    list(
      place,
      'shards',
      'Changes shards with listeners',
      shardColumns,
      none('No one listens to its changes.'),
      say,
      name,
      true,
    ),
    reshards(place, name),
  ];
  return () => stops.forEach(s => s());
};
