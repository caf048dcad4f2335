// The documents that views of a design document skip, since a map function failed.
import { el, section, text, count, link, redraw } from './dom.js';
import { table } from './table.js';
import { couch, path } from './source.js';
import { recovering, trouble } from './recovery.js';

const most = 200;

export const failures = (place, say, name, design) => {
  let stopped = false;
  const body = el('div', {}, el('p', { class: 'dim', role: 'status' }, 'Reading…'));
  place.append(
    section(
      `Documents that views of ${text(design)} skip`,
      el('p', { class: 'bar' }, link(['databases', name], text(name)), link(['databases', name, 'doc', design], 'the functions')),
      body,
    ),
  );
  const draw = async () => {
    const list = JSON.parse(await couch('GET', path(name, design, '_errors'))).errors;
    if (stopped) return;
    body.replaceChildren(
      list.length
        ? table(
            'Skipped documents',
            [
              { title: 'Document', cell: e => link(['databases', name, 'doc', e.id], text(e.id)) },
              { title: 'View', cell: e => text(e.view) },
              { title: 'Error', cell: e => el('span', { class: 'bad' }, text(e.error)) },
            ],
            list.slice(0, most),
          )
        : el('p', { class: 'none' }, 'No document is skipped.'),
      list.length > most ? el('p', { class: 'dim' }, `and ${count(list.length - most)} more`) : '',
    );
  };
  const load = recovering(draw, e => redraw(body, trouble(e, () => load())), say);
  load();
  return () => {
    stopped = true;
    load.ends();
  };
};
