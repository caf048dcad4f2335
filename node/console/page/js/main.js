// The frame of the page: navigation, the verdict on the cluster, and the current view.
import { el, retime, text, badge } from './dom.js';
import { follow } from './source.js';
import { views } from './views.js';

const place = document.getElementById('view'),
  status = document.getElementById('status'),
  verdict = document.getElementById('verdict');
const nav = document.getElementById('nav');
let end = () => {},
  told = false; // whether the view says by itself that it is up to date

const say = problem => {
  const now = problem === null ? 'live ●' : `not up to date: ${problem}`;
  if (status.textContent !== now) status.textContent = now;
  status.classList.toggle('lost', problem !== null);
};

/** The address: '#/databases/orders?state=x' is ['databases', ['orders'], {state: 'x'}]. */
const where = () => {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, ...rest] = path.split('/').map(p => {
    try {
      return decodeURIComponent(p);
    } catch {
      return p;
    }
  });
  return [Object.hasOwn(views, name) ? name : '', rest, query || ''];
};

const show = () => {
  const [name, rest, query] = where();
  end();
  told = false;
  place.replaceChildren();
  nav.replaceChildren(
    ...Object.entries(views).map(([key, [title]]) =>
      el('a', { href: `#/${key}`, 'aria-current': key === name ? 'page' : null }, title),
    ),
  );
  end =
    views[name][1](
      place,
      problem => {
        told = true;
        say(problem);
      },
      rest,
      query,
    ) || (() => {});
};

/** Shows how the cluster is, in the header, on every view. */
export const judge = o => {
  verdict.replaceChildren(
    badge(o.state, text(o.text)),
    el('span', { class: 'dim' }, ` · asked ${text(o.node)}${o.user ? ` as ${text(o.user)}` : ''}`),
  );
  document.title = `${o.state === 'ok' || o.state === 'working' ? '' : `${o.state} · `}Divan ${text(o.node)}`;
};

window.addEventListener('hashchange', () => {
  show();
  place.focus();
});
setInterval(retime, 1000);
follow(
  'verdict',
  {},
  judge,
  problem => {
    if (!told) say(problem);
  },
  true,
);
show();
