// What happened on all nodes, and the stories of failures.
import { el, shown, section, redraw } from './dom.js';
import { follow } from './source.js';
import { pages, table } from './table.js';
import { given, note, pagesBefore } from './address.js';
import { story, eventColumns } from './stories.js';

export const events = (place, say, rest) => {
  const q = { search: given().get('search') || '', after: given().get('after') || '' },
    before = pagesBefore(''),
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
    total.textContent = 'Loading…';
    stop = follow('events', q, show, (problem, e) => {
      if (problem !== null) total.textContent = ''; // the top of the page says what is wrong
      say(problem, e);
    });
  };
  /** Notes what is shown, and shows it. turned: it is another page. */
  const changed = turned => {
    if (!turned) {
      q.after = '';
      before.length = 0;
    }
    note(q, turned, '', before);
    start();
  };
  const show = p => {
    redraw(
      stories,
      p.stories.length && !q.after
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
        : el(
            'p',
            { class: 'none' },
            q.after ? 'No event is older.' : q.search ? 'Nothing is found.' : 'Nothing has happened yet.',
          ),
      pages(q, p.next, before, changed),
    );
  };
  box.addEventListener('input', () => {
    clearTimeout(typed);
    typed = setTimeout(() => {
      q.search = box.value;
      changed();
    }, 250);
  });
  start();
  return () => {
    clearTimeout(typed);
    stop();
  };
};
