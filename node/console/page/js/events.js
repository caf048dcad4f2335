// What happened on all nodes, and the stories of failures.
import { el, shown, section, redraw, typing, progress } from './dom.js';
import { follow } from './source.js';
import { pages, table, turning } from './table.js';
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
    total = progress();
  place.append(
    stories,
    el('section', { 'aria-label': 'Events' }, el('div', { class: 'bar' }, el('h2', {}, 'Events'), box, total), body),
  );
  let stop = () => {};
  const start = () => {
    stop();
    total.textContent = 'Loading…';
    stop = follow('events', q, show, (problem, e) => {
      if (problem !== null) total.textContent = ''; // the top of the page says what is wrong
      say(problem, e);
    });
  };
  const changed = turning(q, before, turned => note(q, turned, '', before), start);
  /** Whether all words that are searched for occur in a story. */
  const sought = s => {
    const told = [s.title, s.text, s.member, ...s.lines.map(l => [l.text, l.nodes, l.jobs])].flat(2).join(' ').toLowerCase();
    return q.search.toLowerCase().split(/\s+/).every(w => told.includes(w));
  };
  const show = p => {
    const told = p.stories.filter(sought);
    redraw(stories, told.length && !q.after ? section('Stories', told.map(s => story(s, s.id === id))) : '');
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
  const untyped = typing(box, () => {
    q.search = box.value;
    changed();
  });
  start();
  return () => {
    untyped();
    stop();
  };
};
