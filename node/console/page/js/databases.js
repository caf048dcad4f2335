// The databases, or one of them.
import { el, section, text, count, bytes, measure, link } from './dom.js';
import { list } from './table.js';
import { button } from './actions.js';
import { shardColumns, indexColumns } from './lists.js';

const rate = v => v ? measure(v, '/s') : el('span', { class: 'dim' }, '0');

const columns = [
  { title: 'Database', sort: 'name', cell: d => [link(['databases', d.name], text(d.name)), d.error ? el('span', { class: 'bad' }, ` ${text(d.error)}`) : ''] },
  { title: 'Documents', sort: 'docs', cell: d => d.docs === undefined ? '–' : count(d.docs), number: true },
  { title: 'Deleted', sort: 'deleted', cell: d => d.deleted === undefined ? '–' : count(d.deleted), number: true, extra: true },
  { title: 'Size', sort: 'bytes', cell: d => d.bytes === undefined ? '–' : bytes(d.bytes), number: true },
  { title: 'Shards', cell: d => d.shards === undefined ? '–' : count(d.shards), number: true, extra: true },
  { title: 'Writes', sort: 'writes', cell: d => rate(d.writes), number: true },
  { title: 'Conflicts', sort: 'refused', cell: d => rate(d.refused), number: true, extra: true },
  { title: 'Reads', sort: 'reads', cell: d => rate(d.reads), number: true, extra: true },
  { title: 'Feed rows', sort: 'feed', cell: d => rate(d.feed), number: true },
];

const none = what => () => el('p', { class: 'none' }, what);

export const databases = (place, say, [name]) => {
  if (name === undefined) return list(place, 'databases', 'Databases', columns, none('There is no database yet.'), say);
  const shards = el('input', { type: 'number', min: 1, max: 64, value: 4, 'aria-label': 'number of shards' });
  place.append(section(name, el('p', { class: 'bar' }, link(['events'], 'events', { search: name }),
    button('Compact', `Superseded revisions of ${name} are removed. Readers and writers are not disturbed.`, { do: 'compact', database: name }),
    el('span', {}, shards, ' ', el('button', { class: 'danger', click: () => {
      const b = button('Reshard', `New changes of ${name} go to ${shards.value} shards. Consumers of the current shards are told to follow the new ones.`,
        { do: 'reshard', database: name, shards: Number(shards.value) });
      b.click();
    } }, 'Reshard')))));
  const stops = [
    list(place, 'databases', 'Figures', columns, none('There is no such database.'), say, name, true),
    list(place, 'indexes', 'Indexes', indexColumns, none('No index of this database was used recently.'), say, name, true),
    list(place, 'shards', 'Changes shards with listeners', shardColumns, none('No one listens to its changes.'), say, name, true),
  ];
  return () => stops.forEach(s => s());
};
