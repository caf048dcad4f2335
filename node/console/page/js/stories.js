// Events and stories.
import { el, none, dim, section, text, time, clock, duration, badge, count, link, redraw, toNode } from './dom.js';
import { follow } from './source.js';
import { table, col } from './table.js';

const details = s => (s ? el('details', {}, el('summary', { class: 'dim' }, 'details'), el('pre', {}, text(s))) : '');

/** The steps of a story, with the seconds since its beginning. */
export const storyLines = s =>
  el('ol', { class: 'story' },
    s.lines.map(l =>
      el('li', {},
        dim(clock(l.at), l.after ? ` +${l.after.toFixed(1)} s` : ''),
        el('span', {},
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
  el('details', { open, key: s.id },
    el('summary', {},
      el('b', {}, s.title),
      ' ',
      time(s.began),
      s.ended !== s.began ? dim(` · took ${took(s)}`) : '',
    ),
    storyLines(s),
  );

/** Links to what an event is about. */
const about = e =>
  [
    e.database && [['databases', e.database], e.database],
    e.database && e.kind === 'index_error' && [['databases', e.database, 'failures', e.object], e.object],
    e.member && [['nodes', e.member], e.member],
    e.actor && [['actors', e.node, e.actor], 'actor'],
    e.job && [['jobs'], 'job', { search: e.job }],
  ]
    .filter(Boolean)
    .map(([path, name, query]) => [' · ', link(path, name, query)]);

/** One event as columns of a table. */
export const eventColumns = [
  col('When', e => [time(e.at), dim(` ${clock(e.at)}`)]),
  col('Event',
    e => [
      badge(e.severity, e.text),
      about(e),
      e.repeated ? dim(` and ${count(e.repeated)} more until ${clock(e.until)}`) : '',
      details(e.detail),
    ],
  ),
  col('Kind', e => dim(text(e.kind).replaceAll('_', ' ')), '', true),
  col('Node', e => [e.node, ...(e.also || [])].map((n, i) => [i ? ', ' : '', toNode(n)])),
];

/** Appends the newest events with some words to a place. empty is what to say without any. Returns what ends it. */
export const eventsOf = (place, caption, search, empty) => {
  const box = el('div');
  place.append(box);
  const show = p =>
    redraw(box, section(caption, p.events.length ? table(caption, eventColumns, p.events) : none(empty(p))));
  return follow('events', { search, limit: 20 }, show, () => {}, true);
};
