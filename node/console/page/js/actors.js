// The actors: the supervision trees of all nodes, all actors as a list, or one actor.
import {
  el, none, dim, section, time, count, plural, link, badge, redraw, bar, bad, toNode, endOf,
} from './dom.js';
import { follow } from './source.js';
import { facts, list, col, num } from './table.js';
import { button } from './actions.js';
import { eventsOf } from './stories.js';

const details = a =>
  Object.entries(a.facts || {})
    .filter(([k, v]) => typeof v !== 'object' && v !== '' && k !== 'error')
    .map(([k, v]) => `${k.replaceAll('_', ' ')} ${count(v)}`)
    .join(' · ');

const state = a =>
  el('span', { class: 'short' }, badge(a.recent ? 'failed' : a.state === 'restarting' ? 'restarting' : '', a.state));
const restart = a =>
  button('Restart', `Actor ${a.id} on ${a.node} and all actors below it begin anew. Nothing is lost.`,
    { do: 'restart_actor', node: a.node, id: a.id });

/** What an actor is called below its parent. */
const ownName = a => (a.name ? `${a.kind} ${a.name}` : a.kind);

const below = a =>
  a.below
    ? [
        `${count(a.below)}`,
        a.unwell ? bad(`, ${count(a.unwell)} not well`) : dim(', all well'),
      ]
    : '';

const failed = a => [bad(a.last_failure), ' ', time(a.last_failure_at)];

const columns = tree => [
  col('Actor', a => link(['actors', a.node, a.id], tree ? ownName(a) : a.id), 'id'),
  col('Node', a => toNode(a.node), 'node'),
  col('State', state, 'state'),
  ...(tree ? [{ title: 'Below', sort: 'below', cell: below, number: true }] : []),
  num('Mailbox', a => count(a.mailbox), 'mailbox'),
  num('Restarts',
    a => el('span', { class: a.last_failure ? 'bad' : a.restarts ? '' : 'dim' }, count(a.restarts)),
    'restarts',
  ),
  num('Within a minute', a => (a.recent ? count(a.recent) : ''), 'recent', true),
  col('Last failure', a => (a.last_failure ? failed(a) : ''), 'failed'),
  col('Since', a => time(a.since), 'since', true),
  col('Details', a => dim(details(a)), '', true),
  col('Actions', restart),
];

/** One actor: its state, the actors below it, and the events about it. */
const one = (place, say, node, id) => {
  const head = el('div');
  place.append(head);
  return endOf([
    follow('tree', { node, id },
      p => {
        const a = p.rows[0];
        redraw(head,
          section(id,
            a
              ? [
                  facts([
                    ['Node', toNode(node)],
                    ['Supervised by', a.parent ? link(['actors', node, a.parent], a.parent) : ''],
                    ['State', state(a)],
                    ['Runs', 'since ', time(a.since)],
                    ['Mailbox', `${count(a.mailbox)} waiting`],
                    ['Restarts', `${count(a.restarts)}; ${plural(a.recent, 'failure')} within the last minute`],
                    a.last_failure ? ['Last failure', failed(a)] : [],
                    ...Object.entries(a.facts || {}).map(([k, v]) => [k.replaceAll('_', ' '), count(v)]),
                  ]),
                  bar(link(['actors'], 'all actors'), restart(a)),
                ]
              : none(`There is no such actor on ${node} now.`),
          ),
        );
      },
      say,
    ),
    list(place, 'tree', 'Below it', columns(true), () => none('It supervises no actor.'), () => {}, {
      asks: true,
      more: { node, parent: id },
    }),
    eventsOf(place, 'Events', id, () => 'It has not failed as long as its node remembers.'),
  ]);
};

export const actors = (place, say, [node, ...id]) => {
  if (node !== undefined && id.length) return one(place, say, node, id.join('/'));
  return endOf([
    list(place, 'tree', 'Supervision trees', columns(true), () => none('No actor runs.'), () => {}, {
      asks: true,
      as: 'tree.',
    }),
    list(place, 'actors', 'All actors', columns(false), () => none('No actor runs.'), say),
  ]);
};
