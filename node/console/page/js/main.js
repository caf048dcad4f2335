// The frame of the page: navigation, the verdict on the cluster, and the current view.
import { el, none, dim, section, link, redraw, retime, text, time, clock, badge, press, tell } from './dom.js';
import { follow, ended, signingOut } from './source.js';
import { ask } from './actions.js';
import { signingIn } from './signin.js';
import { views } from './views.js';

const place = document.getElementById('view'),
  status = document.getElementById('status'),
  verdict = document.getElementById('verdict'),
  who = document.getElementById('who');
const nav = document.getElementById('nav');
let end = () => {},
  wrong = { verdict: null, view: null }, // what either says is not up to date
  here = location.hash, // the address that is shown
  last = null, // the verdict
  heard = Date.now(); // when it came

const verdictWithin = 6000; // it is asked for every two seconds

const say = (who, problem) => {
  wrong[who] = problem;
  const any = wrong.verdict ?? wrong.view;
  const now = ended() ? 'signed out' : any === null ? 'live ●' : `not up to date: ${any}`;
  if (status.textContent !== now) status.textContent = now;
  status.classList.toggle('lost', now !== 'live ●');
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
  return [name, rest, query || ''];
};

const show = () => {
  const [name, rest, query] = where();
  end();
  // What is asked is about the page that is left.
  document.querySelectorAll('dialog[open]').forEach(d => d.close());
  wrong.view = null;
  here = location.hash;
  place.replaceChildren();
  nav.replaceChildren(
    ...Object.entries(views).map(([key, [title]]) =>
      el('a', { href: `#/${key}`, 'aria-current': key === name ? 'page' : null }, title),
    ),
  );
  if (!Object.hasOwn(views, name)) {
    end = () => {};
    place.append(section(name, none('There is no such view. ', link([''], 'Overview'), ' shows how the cluster is.')));
    return;
  }
  end = views[name][1](place, problem => say('view', problem), rest, query) || (() => {});
};

/** What the page shows, when it is not what is so now. */
const from = () =>
  last
    ? ['; what is shown is from ', el('b', {}, clock(last.now).slice(0, 8)), ', ', time(last.now), '. ']
    : '. ';

/** Shows how the cluster is, in the header, on every view. */
const judge = o => {
  last = o;
  heard = Date.now();
  redraw(verdict, badge(o.worst || o.state, text(o.text)), dim(` · asked ${text(o.node)}`));
  redraw(
    who,
    o.user ? el('details', {}, el('summary', { title: 'who is signed in' }, text(o.user)), press('Sign out', leaves)) : '',
  );
  document.title = `${o.state === 'ok' || o.state === 'working' ? '' : `${o.state} · `}Divan ${text(o.node)}`;
};

/** The address of a node's console, or null if it listens on all addresses of its machine. */
const consoleOf = http => {
  try {
    const u = new URL(`${location.protocol}//${http}/_dashboard/`);
    u.hash = location.hash;
    return ['0.0.0.0', '[::]'].includes(u.hostname) ? null : u.href;
  } catch {
    return null;
  }
};

/** Says that nothing is known of the cluster now, and what to do. */
const lose = (problem, silent) => {
  const name = last ? text(last.node) : 'This node',
    others = last ? last.others || [] : [];
  redraw(
    verdict,
    badge('failed', silent ? `${name} does not answer` : `${name} cannot say how the cluster is: ${text(problem)}`),
    from(),
    others.length
      ? [
          'Open the console of another node: ',
          others.map((n, i) => {
            const url = consoleOf(n.http);
            return [i ? ', ' : '', url ? el('a', { href: url }, text(n.name)) : text(n.name)];
          }),
          '.'
        ]
      : silent
        ? 'See whether its process runs and its machine can be reached, or open the console of another node.'
        : '',
  );
  document.title = `no answer · Divan ${last ? name : ''}`;
};

/** Says that what is known is old, while the node is asked again. */
const doubt = () => {
  redraw(verdict, badge('pending', `Asking ${text(last.node)} again`), from());
};

/** Signs out, and shows nothing of what was shown. */
const signOut = async () => {
  if (!(await signingOut()))
    return 'The session is ended, but this browser keeps a name and a password and sends them: close all its windows.';
  end();
  end = () => {};
  place.replaceChildren(none('You are signed out. '));
  window.addEventListener('signedin', show, { once: true });
  return 'You are signed out.';
};
const leaves = () => {
  if (losing()) ask(...losing(), signOut);
  else signOut().then(tell, e => tell(e.message));
};

window.addEventListener('signedout', () => {
  redraw(who);
  redraw(
    verdict,
    badge('failed', 'Your session has ended'),
    from(),
    el('button', { class: 'main', click: () => signingIn(last ? text(last.user) : '') }, 'Sign in again'),
  );
  document.title = 'signed out · Divan';
  say('verdict', null);
});
window.addEventListener('signedin', () => {
  heard = Date.now(); // what follows the verdict asks for it now
  say('verdict', null);
});
/** What is lost if the view is left, as the label and the question for ask, or nothing. */
const losing = () => end.losing && end.losing();

/** Goes to an address although something is lost. */
const leave = hash =>
  ask(...losing(), () => {
    end();
    end = () => {};
    if (location.hash === hash) show();
    else location.hash = hash;
  });

/** The address of what is shown. */
const at = () => (end.at ? end.at() : here);

// The link's address is not that of a view.
document.querySelector('.skip').addEventListener('click', e => {
  e.preventDefault();
  place.focus();
});
window.addEventListener('hashchange', () => {
  const wanted = location.hash;
  if (losing()) {
    if (wanted === at()) return;
    history.pushState(null, '', at() || '#/');
    leave(wanted);
    return;
  }
  show();
  place.focus();
});
document.addEventListener('click', e => {
  const a = e.target.closest && e.target.closest('a[href^="#/"]');
  if (!a || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || !losing()) return;
  if (a.getAttribute('href') === at()) return;
  e.preventDefault();
  leave(a.getAttribute('href'));
});
window.addEventListener('beforeunload', e => {
  if (losing()) e.preventDefault();
});
document.addEventListener('visibilitychange', () => {
  heard = Date.now(); // a hidden page asks seldom
});
setInterval(() => {
  retime();
  if (ended() || document.hidden || Date.now() - heard <= verdictWithin) return;
  const problem = 'this node takes too long to answer';
  lose(problem, true);
  say('verdict', problem);
}, 1000);
follow(
  'verdict',
  {},
  judge,
  (problem, e) => {
    if (ended()) return;
    if (e?.old) doubt();
    else if (problem !== null) lose(problem, e.silent);
    say('verdict', problem);
  },
  true,
);
show();
