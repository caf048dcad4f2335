// What happened on all nodes, and the stories of failures.
import { el, shown, section, count } from './dom.js';
import { follow } from './source.js';
import { table } from './table.js';
import { story, eventColumns } from './stories.js';

export const events = (place, say, rest, query) => {
  const q = { search: new URLSearchParams(query).get('search') || '', limit: 50 },
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
  const open = new Set([id]);
  let stop = () => {},
    typed = 0;
  const start = () => {
    stop();
    stop = follow('events', q, show, say);
  };
  const show = p => {
    stories.replaceChildren(
      p.stories.length
        ? section(
            'Stories',
            p.stories.map(s => {
              const d = story(s, open.has(s.id));
              d.addEventListener('toggle', () => {
                if (d.open) open.add(s.id);
                else open.delete(s.id);
              });
              return d;
            }),
          )
        : '',
    );
    total.textContent = shown((p.absent || []).map(a => `without ${a.node}: ${a.reason}`).join(' · '));
    const opened = [...body.querySelectorAll('details')].map(d => d.open);
    body.replaceChildren(
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
    if (!opened.some(Boolean)) return;
    [...body.querySelectorAll('details')].forEach((d, i) => {
      d.open = !!opened[i];
    });
  };
  box.addEventListener('input', () => {
    clearTimeout(typed);
    typed = setTimeout(() => {
      q.search = box.value;
      start();
    }, 250);
  });
  start();
  return () => {
    clearTimeout(typed);
    stop();
  };
};
