// The frame of the page: navigation, the verdict on the cluster, and the current view.
import {
  el, none, dim, section, link, redraw, retime, shown, speak, text, time, clock, badge, press, tell,
} from './dom.js';
import { follow, ended, forgetAll, signingOut } from './source.js';
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
  heard = Date.now(), // when it came; Infinity if it is known why it does not
  begun = false; // a view was shown

let titled = []; // the last of entitle
/** Names the page after how the cluster is, the view, and the node. */
const entitle = (state, node = '') => {
  titled = [state, node];
  document.title = shown([state, views[where()[0]]?.[0], `Divan ${node}`].filter(Boolean).join(' · '));
};

const verdictWithin = 6000; // it is asked for every two seconds

/** Says how old what is shown is. A page that is hidden is seldom up to date. */
const date = () => {
  const any = wrong.verdict ?? wrong.view,
    good = !ended() && any === null;
  redraw(status,
    ended()
      ? 'signed out'
      : !good
        ? `not up to date: ${any}`
        : document.hidden && last
          ? ['as of ', time(last.now)]
          : 'live ●',
  );
  status.classList.toggle('lost', !good);
};
const say = (who, problem) => {
  wrong[who] = problem;
  date();
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

/** What is asked is about the page that is left. */
const unasked = () => document.querySelectorAll('dialog[open]').forEach(d => d.close());

/** Ends the view, and shows something in its place. A dialog stays open. */
const vacate = (...instead) => {
  end();
  end = () => {};
  place.replaceChildren(...instead);
};
/** Ends the view and its dialogs. */
const leave = () => {
  vacate();
  unasked();
};

const show = () => {
  begun = true;
  const [name, rest, query] = where();
  leave();
  wrong.view = null;
  if (!document.querySelector('.told')) speak(''); // it was about the view that is left
  here = location.hash;
  entitle(...titled);
  nav.replaceChildren(
    ...Object.entries(views).map(([key, [title]]) =>
      el('a', { href: `#/${key}`, 'aria-current': key === name ? 'page' : null }, title),
    ),
  );
  if (!Object.hasOwn(views, name)) {
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
  date();
  redraw(verdict, badge(o.worst || o.state, o.text), dim(` · asked ${o.node}`));
  redraw(who,
    o.user ? el('details', {}, el('summary', { title: 'who is signed in' }, o.user), press('Sign out', leaves)) : '',
  );
  entitle(o.state === 'ok' || o.state === 'working' ? '' : o.state, o.node);
  if (!begun) show(); // not before it is known who is signed in: it may have what somebody else typed
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
  redraw(verdict,
    badge('failed', silent ? `${name} does not answer` : `${name} cannot say how the cluster is: ${text(problem)}`),
    from(),
    others.length
      ? [
          'Open the console of another node: ',
          others.map((n, i) => {
            const url = consoleOf(n.http);
            return [i ? ', ' : '', url ? el('a', { href: url }, n.name) : n.name];
          }),
          '.'
        ]
      : silent
        ? 'See whether its process runs and its machine can be reached, or open the console of another node.'
        : '',
  );
  entitle('no answer', last ? name : '');
};

/** Says that what is known is old, while the node is asked again. */
const doubt = () => {
  redraw(verdict, badge('pending', `Asking ${last.node} again`), from());
};

/** Signs out, and shows nothing of what was shown. */
const signOut = async () => {
  if (!(await signingOut()))
    return 'The session is ended, but this browser keeps a name and a password and sends them: close all its windows.';
  vacate(none('You are signed out. ')); // who is quick may be signing in again already
  forgetAll();
  place.hidden = false;
  window.addEventListener('signedin', show, { once: true });
  return 'You are signed out.';
};
const leaves = () => {
  if (losing()) ask(...losing(), signOut);
  else signOut().then(tell, e => tell(e.message));
};

// Edits stay below the cover, for the same user.
window.addEventListener('signedout', () => {
  const user = last ? text(last.user) : '',
    again = press('Sign in again', () => signingIn(user, losing()), { class: 'main' }),
    focused = document.activeElement.closest('main, dialog, #who');
  unasked();
  place.hidden = true;
  redraw(who);
  redraw(verdict, badge('failed', 'Your session has ended'), ', and this page is covered. ', again);
  if (focused) again.focus();
  entitle('signed out');
  say('verdict', null);
});
window.addEventListener('signedin', () => {
  heard = Date.now(); // what follows the verdict asks for it now
  place.hidden = false;
  say('verdict', null);
});
window.addEventListener('otheruser', ({ detail: [before, now] }) => {
  const lost = losing();
  leave();
  forgetAll();
  show();
  tell(`${now} is signed in now.${lost ? ` What ${before} had not saved is dropped.` : ''}`);
});
/** What is lost if the view is left, as the label and the question for ask, or nothing. */
const losing = () => end.losing && end.losing();

/** Goes to an address although something is lost. */
const go = hash =>
  ask(...losing(), () => {
    leave();
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
    go(wanted);
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
  go(a.getAttribute('href'));
});
window.addEventListener('beforeunload', e => {
  if (losing()) e.preventDefault();
});
document.addEventListener('visibilitychange', () => {
  heard = Date.now(); // a hidden page asks seldom
  date();
});
setInterval(() => {
  retime();
  if (ended() || document.hidden || Date.now() - heard <= verdictWithin) return;
  const problem = 'this node takes too long to answer';
  lose(problem, true);
  say('verdict', problem);
}, 1000);
follow('verdict', {}, judge,
  (problem, e) => {
    if (ended()) return;
    if (e?.old) doubt();
    else if (problem !== null) {
      heard = Infinity;
      lose(problem, e.silent);
      if (!begun && !e.silent) show();
    }
    say('verdict', problem);
  },
  true,
);
