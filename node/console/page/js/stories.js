// Events and stories.
import { el, dim, section, text, time, clock, duration, badge, count, redraw } from './dom.js';
import { follow } from './source.js';
import { table } from './table.js';

const details = s => (s ? el('details', {}, el('summary', { class: 'dim' }, 'details'), el('pre', {}, text(s))) : '');

/** The steps of a story, with the seconds since its beginning. */
export const storyLines = s =>
  el(
    'ol',
    { class: 'story' },
    s.lines.map(l =>
      el(
        'li',
        {},
        dim(clock(l.at), l.after ? ` +${l.after.toFixed(1)} s` : ''),
        el(
          'span',
          {},
          text(l.text) + (l.until ? `, the last at ${clock(l.until)}` : ''),
          dim(` · ${l.nodes.join(', ')}`),
          details(l.jobs?.join('\n')),
        ),
      ),
    ),
  );

/** How long a story took: to a tenth of a second, as its lines, or a whole unit if it was long. */
const took = s => {
  const seconds = (Date.parse(s.ended) - Date.parse(s.began)) / 1000;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : duration(seconds);
};

/** A story in one line, which opens. */
export const story = (s, open) =>
  el(
    'details',
    { open, key: s.id },
    el(
      'summary',
      {},
      el('b', {}, text(s.title)),
      ' ',
      time(s.began),
      s.ended !== s.began ? dim(` · took ${took(s)}`) : '',
    ),
    storyLines(s),
  );

/** One event as columns of a table. */
export const eventColumns = [
  { title: 'When', cell: e => [time(e.at), dim(` ${clock(e.at)}`)] },
  {
    title: 'Event',
    cell: e => [
      badge(e.severity, text(e.text)),
      e.repeated ? dim(` and ${count(e.repeated)} more until ${clock(e.until)}`) : '',
      details(e.detail),
    ],
  },
  { title: 'Kind', cell: e => dim(text(e.kind).replaceAll('_', ' ')), extra: true },
  { title: 'Node', cell: e => [e.node, ...(e.also || [])].map(text).join(', ') },
];

/** Appends the newest events with some words to a place. empty is what to say without any. Returns what ends it. */
export const eventsOf = (place, caption, search, empty) => {
  const box = el('div', {});
  place.append(box);
  const show = p =>
    redraw(
      box,
      section(
        caption,
        p.events.length ? table(caption, eventColumns, p.events) : el('p', { class: 'none' }, empty(p)),
      ),
    );
  return follow('events', { search, limit: 20 }, show, () => {}, true);
};
