// Follows a view of the server: by a stream of differences, or by asking again and again.
import { serverTime } from './dom.js';

const every = 2000,
  hiddenEvery = 15000, // the verdict, while the page is hidden: its title stays true
  longest = 30000, // between two requests while the node does not answer
  answerWithin = 15000,
  firstWithin = 5000, // a stream begins with a state
  lineWithin = 15000, // and has a line every two seconds
  oldAfter = 4000, // time for which a page was hidden, after which what it shows is old
  refusedFor = 60000, // a stream that was refused is asked for again then
  signedOutEvery = 10000, // a page whose session has ended asks whether somebody has signed in again
  guessEvery = 150000; // and if that is a refused login: five within five minutes lock an account
const api = '/_dashboard/api/';

/** The address of a view. The page's own may contain a name and a password, which fetch refuses. */
export const address = (view, params) => {
  const u = new URL(api + view, location.origin);
  for (const [k, v] of Object.entries(params || {}))
    if (Array.isArray(v)) v.forEach(each => u.searchParams.append(k, each));
    else if (v !== '' && v !== undefined && v !== null && v !== false) u.searchParams.set(k, v);
  return u;
};

// A browser writes each answer with an error status to its console. With this header the node sends 200 for one that is
// expected, such as that of a store that does not answer, and its status in that header.
const real = 'X-Divan-Status';
const status = r => Number(r.headers.get(real)) || r.status;
const good = r => status(r) < 300;

const reasonOf = async r => (await r.json().catch(() => ({}))).reason;

/** The error of an answer. It is an outage if the node, or a proxy, says that it cannot be answered now. */
const refused = async (r, reason) =>
  Object.assign(new Error(reason || (await reasonOf(r)) || `HTTP ${status(r)}`), {
    status: status(r),
    outage: [502, 503, 504].includes(status(r)),
  });

let silentSince = 0; // when this node was found not to answer; 0 if it does
const waiting = new Set(); // work that waits for it
const wake = () => [...waiting].forEach(go => go());
const answered = () => {
  if (!silentSince) return;
  silentSince = 0;
  wake();
};

/** The error of a request that is not answered, or not to the end. */
const unanswered = e => {
  if (e.name === 'AbortError') return e; // somebody has cancelled it
  silentSince ||= Date.now();
  return Object.assign(
    new Error(e.name === 'TimeoutError' ? 'this node takes too long to answer' : 'this node does not answer'),
    { silent: true, outage: true },
  );
};
/** What is awaited of a request. */
const arriving = promise =>
  promise.catch(e => {
    throw unanswered(e);
  });
let hiddenSince = document.hidden ? Date.now() : 0,
  old = false; // the page was hidden for some time when it was last brought forward
document.addEventListener('visibilitychange', () => {
  if (document.hidden) hiddenSince ||= Date.now();
  else {
    old = hiddenSince > 0 && Date.now() - hiddenSince > oldAfter;
    hiddenSince = 0;
    wake();
  }
});
window.addEventListener('online', wake);

/**
 * Does some work after a while, unless the returned function is called. While this node does not answer, which a browser
 * writes to its console for each request, the time grows, and all but what leads waits until the node answers that.
 */
export const later = (work, ms, leads = false) => {
  const cancel = () => {
    clearTimeout(timer);
    waiting.delete(go);
  };
  const go = () => {
    cancel();
    work();
  };
  const calm = !silentSince ? 0 : leads ? Math.min(longest, (Date.now() - silentSince) / 2) : longest;
  const timer = setTimeout(go, Math.max(ms, calm));
  if (silentSince) waiting.add(go);
  return cancel;
};

/** A request to this node. The header says that it must not be answered with the browser's question for a password. */
const ask = async (url, init) => {
  const r = await arriving(
    fetch(url, {
      credentials: 'same-origin',
      cache: 'no-store',
      ...init,
      headers: { 'X-Requested-With': 'XMLHttpRequest', [real]: 'yes', ...init.headers },
    }),
  );
  answered();
  return r;
};

/** What this tab keeps under a key while it is open, or [], and what keeps it, which returns whether it fits. */
export const stored = key => {
  try {
    return JSON.parse(sessionStorage.getItem(key)) || [];
  } catch {
    return [];
  }
};
export const hold = (key, list) => {
  try {
    sessionStorage.setItem(key, JSON.stringify(list));
    return true;
  } catch {
    return false; // without memory
  }
};
/** Forgets all that was kept. */
export const forgetAll = () => {
  try {
    sessionStorage.clear();
  } catch {
    /* nothing was */
  }
};

const userKey = 'divan.user';
let [owner = null] = stored(userKey), // whose tab it is
  told = null, // who has a session here, as other tabs know
  signedOut = false,
  guessing = false, // the browser sends a name and a password: a request that is refused is a refused login
  refusedAt = 0,
  looking = null, // a promise
  cancelLook = () => {};
const leaving = new Set(), // what stops when the session ends
  returning = new Set(); // work that begins when somebody has signed in again

/** Whether the session has ended. Views ask for nothing then. */
export const ended = () => signedOut;

/** Does some work whenever somebody has signed in again, until the returned function is called. */
export const onReturn = work => {
  returning.add(work);
  return () => returning.delete(work);
};

/**
 * Notes who is signed in, as the answer to a question says that was asked when the tab was somebody's. Somebody else
 * gets nothing of what is in this tab, and what was typed is not theirs.
 */
const belongs = (name, asker) => {
  if (name === undefined || name === told || asker !== owner) return;
  const before = owner;
  owner = told = name;
  if (before !== null && before !== name) {
    token = '';
    window.dispatchEvent(new CustomEvent('otheruser', { detail: [before, name] }));
  }
  hold(userKey, [name]);
  tellTabs('in');
};

const lookLater = () => {
  cancelLook();
  if (signedOut && !guessing && !document.hidden) cancelLook = later(look, signedOutEvery, true);
};

/** The error of a request that needs a session. */
const refusedLogin = () =>
  Object.assign(new Error('your session has ended; “Sign in again” is at the top'), { status: 401, signedOut: true });

/**
 * Notes that the session has ended, as an answer says, and returns the error. Only a password is refused with 401, for
 * which other tabs need not ask: each question would be a refused login.
 */
const signOut = r => {
  guessing = r.status === 401;
  refusedAt = Date.now();
  if (!signedOut) {
    signedOut = true;
    told = null;
    if (!r.heard) tellTabs(guessing ? 'refused' : 'ended');
    for (const stop of leaving) stop();
    window.dispatchEvent(new Event('signedout'));
  }
  lookLater();
  return refusedLogin();
};

/** Signs out, and returns whether the browser has forgotten who it is: it may send a password with each request. */
export const signingOut = async () => {
  const r = await ask(new URL('/_session', location.origin), {
    method: 'DELETE',
    signal: AbortSignal.timeout(answerWithin),
  });
  if (!good(r)) throw await refused(r);
  token = '';
  await looking?.catch(() => {}); // it was asked before
  if (!(await session().catch(() => signOut({})))) return false;
  tellTabs('out');
  return true;
};

/** Somebody has a session: what another one was shown goes before it is asked for again. */
const signedIn = (name, asker) => {
  const was = signedOut,
    waits = [...returning];
  signedOut = false;
  belongs(name, asker);
  if (!was) return;
  cancelLook();
  for (const go of waits) if (returning.has(go)) go();
  window.dispatchEvent(new Event('signedin'));
};

/** Asks whether there is a session. It returns why there is none, or "". */
const session = () => {
  const asked = async () => {
    const asker = owner,
      r = await ask(address('verdict'), { signal: AbortSignal.timeout(answerWithin) });
    if (good(r)) {
      signedIn((await arriving(r.json())).user, asker);
      return '';
    }
    if (status(r) !== 401) throw await refused(r);
    signOut(r);
    return (await reasonOf(r)) || 'the login is refused';
  };
  looking ||= asked().finally(() => {
    looking = null;
  });
  return looking;
};

/** Asks whether somebody has signed in again, for example in another tab. sure: another tab says so. */
const look = async sure => {
  if (!signedOut || (document.hidden && sure !== true)) return;
  if (guessing && sure !== true && Date.now() - refusedAt < guessEvery) return;
  await session().catch(() => {}); // a node that does not answer is asked later
  lookLater();
};

const tabs = new BroadcastChannel('divan');
const tellTabs = what => tabs.postMessage([what, owner]);
tabs.onmessage = ({ data: [what, user] }) => {
  if (signedOut) look(what === 'in');
  else if (what === 'out') signOut({ heard: true });
  else if (what === 'refused') signOut({ status: 401, heard: true });
  else if (what === 'ended' || user !== owner) session().catch(() => {});
};
window.addEventListener('focus', look);
document.addEventListener('visibilitychange', look);

/** Throws an error if there is no session, for what somebody wants to do. */
const needSession = async () => {
  if (!signedOut) return;
  await look();
  if (signedOut) throw refusedLogin();
};

/**
 * Signs in with a name and a password. The cookie also serves if the browser has another password, which it sends only
 * below the page's address. A wrong password is answered with the redirect that “fail” asks for, which is not followed:
 * a browser writes 401 to its console.
 */
export const signIn = async (name, password) => {
  const u = new URL('/_session', location.origin);
  u.searchParams.set('fail', '/_dashboard/');
  const r = await ask(u, {
    method: 'POST',
    redirect: 'manual',
    body: JSON.stringify({ name, password }),
    headers: { 'Content-Type': 'application/json' },
    signal: AbortSignal.timeout(answerWithin),
  });
  if (r.type === 'opaqueredirect') throw new Error('The name or the password is wrong.');
  if (!good(r)) throw await refused(r);
  await looking?.catch(() => {}); // it was asked before
  const reason = await session();
  if (reason) throw new Error(`The password is right, but the console is refused: ${reason}`);
};

/** An answer, if it is good. */
const granted = async r => {
  if (good(r)) return r;
  throw status(r) === 401 ? signOut(r) : await refused(r);
};

/** Asks for a view. */
const view = async (name, params, init) => {
  if (signedOut) throw refusedLogin();
  return granted(await ask(address(name, params), init));
};

/** Reads a view once, which may take some time, in milliseconds. */
export const read = async (name, params, within = answerWithin) => {
  const asker = owner,
    r = await view(name, params, { signal: AbortSignal.timeout(within) });
  const body = JSON.parse(await arriving(r.text()));
  serverTime(body.now);
  belongs(body.user, asker);
  return body;
};

/** Reads lines until there are no more parts, and calls take with each. */
const lines = async (part, take) => {
  const decoder = new TextDecoder();
  for (let rest = ''; ;) {
    const { value, done } = await part();
    const list = (rest + decoder.decode(value, { stream: !done })).split('\n');
    rest = list.pop();
    list.forEach(take);
    if (done) return;
  }
};

/** Reads a stream of events until it ends. take gets the name and the data of each. */
const each = (body, take, alive) => {
  const reader = body.getReader();
  let name = '';
  return lines(
    async () => {
      const part = await reader.read().catch(() => ({ done: true })); // whether the node answers is asked next
      if (!part.done) alive();
      return part;
    },
    l => {
      if (l.startsWith('event: ')) name = l.slice(7);
      if (l.startsWith('data: ')) take(name, JSON.parse(l.slice(6)));
    },
  );
};

const acted = new Set(); // work that follows an action

/** Does some work whenever an action of this page has succeeded, until the returned function is called. */
export const onActed = work => {
  acted.add(work);
  return () => acted.delete(work);
};

/** Applies a list of [path, value] to a value. */
export const apply = (state, changes) => {
  for (const [path, ...value] of changes) {
    if (path.length === 0) {
      state = value[0];
      continue;
    }
    let at = state;
    for (const k of path.slice(0, -1)) at = at[k];
    const last = path[path.length - 1];
    if (value.length) at[last] = value[0];
    else delete at[last];
  }
  return state;
};

let asksUntil = 0; // until then no stream is asked for

/**
 * Follows a view until the returned function is called. show gets its state, say what goes wrong, or null. A browser
 * opens few connections to one server, so a page has one stream, none while it is hidden, and asks for everything else
 * (asks), and for the view of a stream that was refused. It asks again at once when an action has succeeded. When the
 * page is brought forward after some time, say gets that what is shown is old, and { old: true }, until it is answered.
 */
export const follow = (name, params, show, say, asks = false) => {
  let stopped = false,
    stream = null, // what ends it
    cancel = () => {},
    turn = 0, // of requests: the answer of one before another is not shown
    state = null;
  // The verdict is followed on every page, and asked for (main.js): it is what shows that the node answers again.
  const leads = name === 'verdict';
  const got = s => {
    state = s;
    serverTime(s.now);
    say(null);
    show(s);
  };
  const again = () => {
    cancel();
    if (stopped || signedOut || (document.hidden && !leads)) return;
    cancel = later(start, document.hidden ? hiddenEvery : every, leads);
  };
  const poll = async () => {
    const mine = ++turn;
    try {
      const s = await read(name, params);
      if (!stopped && mine === turn) got(s);
    } catch (e) {
      if (!stopped && mine === turn) say(e.message, e);
    }
    if (mine === turn) again();
  };
  const close = () => {
    if (stream) stream.abort();
    stream = null;
    turn++;
    cancel();
  };
  /**
   * Follows the stream. After one that is refused the page asks for a while: the node has too many, or an outage. So it
   * does after one that does not begin: a proxy keeps it to its end.
   */
  const listen = async () => {
    const mine = (stream = new AbortController());
    let late = 0,
      begun = false;
    const alive = () => {
      clearTimeout(late);
      late = setTimeout(
        () => {
          if (!begun) asksUntil = Date.now() + refusedFor;
          mine.abort();
        },
        begun ? lineWithin : firstWithin,
      );
    };
    const take = (kind, v) => {
      begun = true;
      alive();
      if (stream !== mine) return;
      if (kind === 'state') got(v);
      else if (kind === 'diff' && state !== null) got(apply(state, v));
      else if (kind === 'trouble') say(v);
    };
    try {
      alive();
      const r = await view(
        name,
        { ...params, live: 1 },
        { signal: mine.signal, headers: { Accept: 'text/event-stream' } },
      );
      await each(r.body, take, alive);
    } catch (e) {
      if (stream !== mine) return;
      if (e.silent) say(e.message, e);
      else asksUntil = Date.now() + refusedFor;
    } finally {
      clearTimeout(late);
      mine.abort(); // also if what came could not be shown
    }
    if (stream !== mine) return;
    stream = null;
    if (Date.now() < asksUntil) poll();
    else again();
  };
  const start = () => {
    if (signedOut) return;
    if (asks || Date.now() < asksUntil) poll();
    else listen();
  };
  const restart = () => {
    close();
    start();
  };
  const anew = () => {
    if (!document.hidden) return restart();
    close();
    again();
  };
  const shown = () => {
    if (old && state !== null && !document.hidden && !signedOut && !silentSince)
      say('asking again, the page was in the background', { old: true });
    anew();
  };
  document.addEventListener('visibilitychange', shown);
  leaving.add(close);
  const stays = [onReturn(leads ? restart : anew), onActed(anew)];
  start();
  return () => {
    stopped = true;
    close();
    leaving.delete(close);
    stays.forEach(end => end());
    document.removeEventListener('visibilitychange', shown);
  };
};

let token = '';

/**
 * Sends a request with a header that a page of another site cannot send: the token can only be read here. It is sent
 * again with a new token if the node has restarted, but never for another user than the one whose tab it was.
 */
const permitted = async send => {
  const user = owner;
  const sent = async () => {
    if (!token) token = (await read('token')).token;
    if (user !== null && user !== owner) throw new Error(`${owner} is signed in now. Nothing was done for ${user}.`);
    return send({ 'X-Divan-Token': token });
  };
  await needSession();
  const r = await sent();
  if (status(r) !== 403) return r;
  token = '';
  return sent();
};

/** Sends a POST that does something. */
const post = async (view, body, signal) => {
  const r = await permitted(header =>
    ask(address(view), {
      method: 'POST',
      body: JSON.stringify(body),
      signal,
      headers: { 'Content-Type': 'application/json', ...header },
    }),
  );
  return granted(r);
};

/** Does something on the server, and returns what was done. */
export const act = async action => {
  const { did } = await (await post('act', action)).json();
  for (const go of [...acted]) go();
  return `${did ?? 'It is done'}.`;
};

/**
 * Runs SQL and returns its results: [{columns, rows, done}], with notices and more. take gets the same object when it
 * begins: it grows. A statement's error is thrown, with its code, hint and position. With explain: 'plan' the result is its
 * plan, and it is not run; with 'run' it is.
 */
export const sql = async (database, text, { rows = 1000, signal, take = () => {}, explain = '' } = {}) => {
  const r = await post('sql', { database, sql: text, rows, explain }, signal);
  const out = { results: [], notices: [], more: '' },
    reader = r.body.getReader();
  let now = null,
    failed = null;
  take(out);
  const line = v => {
    if (Array.isArray(v)) {
      now.rows.push(v);
      return;
    }
    if (v.columns) out.results.push((now = { columns: v.columns, rows: [], done: '' }));
    if (v.done) {
      if (!now) out.results.push((now = { columns: [], rows: [], done: '' }));
      now.done = v.done;
      now = null;
    }
    if (v.notice) out.notices.push(v.notice);
    if (v.more) out.more = v.more;
    if (v.error) failed = Object.assign(new Error(v.error.message), v.error);
  };
  await lines(() => arriving(reader.read()), l => line(JSON.parse(l)));
  if (failed) throw failed;
  return out;
};

/** A text as a literal of SQL, and a name as an identifier. */
export const literal = s => `'${String(s).replaceAll("'", "''")}'`;
export const identifier = s => (/^[a-z_][a-z0-9_]*$/.test(s) ? s : `"${String(s).replaceAll('"', '""')}"`);

const escaped = name => encodeURIComponent(name).replaceAll('.', '%2E');

/**
 * The path of something in CouchDB's API. Names are escaped twice: a browser removes “.” and “..” from a path, also if
 * they are escaped once, and then asks for what is above.
 */
export const path = (...names) => '/_dashboard/couch/' + names.map(n => encodeURIComponent(escaped(n))).join('/');

/** A request to CouchDB's API. It returns the response's text, or throws an error with its status. */
export const couch = async (method, at, params, body, type = 'application/json', more = {}) => {
  const u = new URL(at, location.origin);
  for (const [k, v] of Object.entries(params || {})) if (v !== undefined && v !== '') u.searchParams.set(k, v);
  const send = header =>
    ask(u, {
      method,
      body,
      signal: AbortSignal.timeout(60000),
      headers: {
        Accept: 'application/json',
        ...(body === undefined ? {} : { 'Content-Type': type }),
        ...more,
        ...header,
      },
    });
  if (method === 'GET' && signedOut) throw refusedLogin();
  const r = method === 'GET' ? await send({}) : await permitted(send);
  const got = await arriving(r.text());
  if (good(r)) return got;
  let said = {};
  try {
    said = JSON.parse(got);
  } catch {
    /* a proxy's page */
  }
  // A validation function of a design document can refuse a write so too.
  if (status(r) === 401 && (await session().catch(() => ''))) throw refusedLogin();
  throw await refused(r, said.reason || said.error);
};

/** The same as a value. */
export const couchJSON = async (...of) => JSON.parse(await couch(...of));

/** Deletes a database. The header says so: no other address may be taken for that of a database. */
export const deleteDatabase = name =>
  couch('DELETE', path(name), {}, undefined, undefined, { 'X-Divan-Delete-Database': escaped(name) });
