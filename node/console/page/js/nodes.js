// The nodes, or one of them.
import { el, none, bar, section, text, time, clock, link, measure, badge, redraw } from './dom.js';
import { follow, read } from './source.js';
import { facts } from './table.js';
import { nodeTable } from './overview.js';
import { button } from './actions.js';
import { plotsOf, range } from './plots.js';

const one = (n, series) => [
  section(
    n.name,
    facts([
      ['State', badge(n.given_up ? 'failed' : n.state, n.text)],
      ['Started', n.started ? time(n.started) : ''],
      ['Gone', n.gone_since ? time(n.gone_since) : ''],
      ['Last answer', n.last_answer ? time(n.last_answer) : ''],
      ...['Version', 'Engine', 'HTTP', 'SQL', 'Gossip'].map(k => [k, text(n[k.toLowerCase()])]),
      ['Roles', (n.roles || []).join(', ')],
      ['Clock', n.skew ? `${n.skew} s ahead` : ''],
      ['Store', n.store],
      ['Log', n.log_until ? `${n.log_level} until ${clock(n.log_until).slice(0, 8)}, by an operator` : ''],
    ]),
    (n.reasons || []).length
      ? el('ul', { class: 'attention' },
          n.reasons.map(r => el('li', { class: 'error' }, text(r))),
        )
      : '',
    bar(link(['events'], 'events', { search: n.name }),
      link(['actors'], 'actors', { search: n.name }),
      link(['sessions'], 'sessions', { search: n.name }),
      n.state === 'gone'
        ? button('Forget', `${n.name} is removed from the lists of all nodes. If it comes back it is a member again.`,
            { do: 'forget', member: n.name })
        : '',
      /^(ok|degraded|unavailable)$/.test(n.state)
        ? [
            button('Log more', `${n.name} writes debug lines to its log for ten minutes.`,
              { do: 'log_level', level: 'debug', node: n.name }),
            button('Drain',
              `${n.name} gives its changes shards and jobs to other nodes, and /readyz says that it is not ready. ` +
                'It still answers, until it is restarted.',
              { do: 'drain', node: n.name },
            ),
          ]
        : '',
    ),
  ),
  n.now && series
    ? section('Now',
        el('div', { class: 'tiles' },
          series
            .filter(s => s.name in n.now)
            .map(({ name, title, unit }) =>
              el('div', { class: 'tile' }, el('span', {}, text(title)), el('b', {}, measure(n.now[name], unit))),
            ),
        ),
      )
    : '',
];

/** The series with plots on the page of a node. */
const plotted = ['docs_written', 'docs_read', 'http_done', 'statements', 'commit_p99', 'cpu', 'resident', 'mailbox'];

export const nodes = (place, say, [name]) => {
  const body = el('div'),
    tiles = el('div', { class: 'tiles wide' });
  place.append(body);
  let running = null,
    series = null; // what nodes measure
  const draw = async s => {
    const found = s.nodes.find(n => n.name === name);
    if (found && !running) {
      running = plotsOf([[tiles, plotted]], name);
      place.append(bar(el('h2', {}, 'Plots'), range(running.again)), tiles);
    }
    if (found) series ||= await read('series').catch(() => null);
    redraw(body,
      name === undefined
        ? section('Nodes', nodeTable(s.nodes, () => draw(s)))
        : found
          ? one(found, series)
          : section(name, none('There is no such node.')),
    );
  };
  const stop = follow('nodes', {}, draw, say);
  return () => {
    running?.stop();
    stop();
  };
};
