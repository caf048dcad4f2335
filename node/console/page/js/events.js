// What happened on all nodes, and the stories of failures.
import { el, shown, section, count, redraw } from './dom.js';
import { follow } from './source.js';
import { table } from './table.js';
import { given, note } from './address.js';
import { story, eventColumns } from './stories.js';

export const events = (place, say, rest) => {
  const q = { search: given().get('search') || '', limit: 50 },
    id = rest.join('/');
  const box = el('input', {
    type: 'search',
    placeholder: 'words, kinds, names …',
    'aria-label': 'Search events',
    value: q.search,
  });
  const stories = el('div', {}),
    body = el('div', {}),
    total = el('span', { class: 'dim', role: 'status' });
  place.append(
    stories,
    el('section', { 'aria-label': 'Events' }, el('div', { class: 'bar' }, el('h2', {}, 'Events'), box, total), body),
  );
  let stop = () => {},
    typed = 0;
  const start = () => {
    stop();
    stop = follow('events', q, show, say);
  };
  const show = p => {
    redraw(
      stories,
      p.stories.length
        ? section(
            'Stories',
            p.stories.map(s => story(s, s.id === id)),
          )
        : '',
    );
    total.textContent = shown((p.absent || []).map(a => `without ${a.node}: ${a.reason}`).join(' · '));
    redraw(
      body,
      p.events.length
        ? table('Events', eventColumns, p.events)
        : el('p', { class: 'none' }, q.search ? 'Nothing is found.' : 'Nothing has happened yet.'),
      p.next && q.limit < 500
        ? el(
            'div',
            { class: 'pages' },
            el(
              'button',
              {
                click: () => {
                  q.limit = Math.min(500, q.limit * 3);
                  start();
                },
              },
              `more than ${count(q.limit)} …`,
            ),
          )
        : '',
    );
  };
  box.addEventListener('input', () => {
    clearTimeout(typed);
    typed = setTimeout(() => {
      q.search = box.value;
      note({ search: q.search });
      start();
    }, 250);
  });
  start();
  return () => {
    clearTimeout(typed);
    stop();
  };
};
