// What happened on all nodes, and the stories of failures.
import { el, none, tooled, endOf, shown, section, redraw, progress } from './dom.js';
import { follow } from './source.js';
import { paged, table } from './table.js';
import { story, eventColumns } from './stories.js';

export const events = (place, say, rest) => {
  const { q, box, turns, ends } = paged(['search', 'after'], () => start()),
    id = rest.join('/');
  const stories = el('div'),
    body = el('div'),
    total = progress();
  place.append(
    stories,
    tooled('Events', [box('Search events', 'words, kinds, names …'), total], body),
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
  /** Whether all words that are searched for occur in a story. */
  const sought = s => {
    const told = [s.title, s.text, s.member, ...s.lines.map(l => [l.text, l.nodes, l.jobs])].flat(2).join(' ').toLowerCase();
    return q.search.toLowerCase().split(/\s+/).every(w => told.includes(w));
  };
  const show = p => {
    const told = p.stories.filter(sought);
    redraw(stories, told.length && !q.after ? section('Stories', told.map(s => story(s, s.id === id))) : '');
    const without = (p.absent || []).map(a => `without ${a.node}: ${a.reason}`);
    total.textContent = shown([...without, 'Nodes keep events in memory.'].join(' · '));
    redraw(body,
      p.events.length
        ? table('Events', eventColumns, p.events)
        : none(q.after ? 'No event is older.' : q.search ? 'Nothing is found.' : 'Nothing has happened yet.'),
      turns(p.next),
    );
  };
  start();
  return endOf([ends, () => stop()]);
};
