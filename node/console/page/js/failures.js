// The documents that views of a design document skip, since a map function failed.
import { el, shown, section, text, count, link } from './dom.js';
import { table } from './table.js';
import { couch, path } from './source.js';

const most = 200;

export const failures = (place, name, design) => {
  let stopped = false;
  const body = el('p', { class: 'dim', role: 'status' }, 'Reading…');
  place.append(
    section(
      `Documents that views of ${text(design)} skip`,
      el('p', { class: 'bar' }, link(['databases', name], text(name)), link(['databases', name, 'doc', design], 'the functions')),
      body,
    ),
  );
  couch('GET', path(name, design, '_errors')).then(
    found => {
      if (stopped) return;
      const list = JSON.parse(found).errors;
      body.replaceWith(
        list.length
          ? el(
              'div',
              {},
              table(
                'Skipped documents',
                [
                  { title: 'Document', cell: e => link(['databases', name, 'doc', e.id], text(e.id)) },
                  { title: 'View', cell: e => text(e.view) },
                  { title: 'Error', cell: e => el('span', { class: 'bad' }, text(e.error)) },
                ],
                list.slice(0, most),
              ),
              list.length > most ? el('p', { class: 'dim' }, `and ${count(list.length - most)} more`) : '',
            )
          : el('p', { class: 'none' }, 'No document is skipped.'),
      );
    },
    e => {
      if (!stopped) body.textContent = shown(e.message);
    },
  );
  return () => {
    stopped = true;
  };
};
