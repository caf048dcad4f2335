// Elements and formats. What comes from a server is only inserted as text, never as HTML.

// Characters that cannot be seen, but tabs and ends of lines: control characters, those that change the direction of
// the text around them, those without a width, and fillers.
const hidden = new RegExp(
  '[\\0-\\x08\\x0b\\f\\x0e-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e' +
    '\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\u{e0000}\\u{e0001}]',
  'gu',
);
// Those that join characters, or choose how one looks, and spaces that look like others: texts of some languages and
// emoji need them, names do not.
const joiners = /[\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\u{e0020}-\u{e01ef}]/gu,
  spaces = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g;

/** Characters as they are written in JSON. */
const escaped = s =>
  s
    .split('')
    .map(c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

/** The content of a document, as a text node. Its hidden characters are written as in JSON. */
export const content = s => document.createTextNode(legible(s));

/** The same as a string. Joiners stay where they join something, and not among Latin letters. */
export const legible = s => s.replace(hidden, escaped).replace(/(?<=^|[\0-\u024f])[\u200c\u200d\ufe0f]/g, escaped);

/** A text whose hidden characters are written as in JSON: names with them could look like others, or reverse them. */
export const shown = s => s.replace(hidden, escaped).replace(joiners, escaped).replace(spaces, escaped);

/** A name in which spaces that cannot be seen on a page, and ends of lines, are written as in JSON too. */
export const named = s =>
  shown(s.replace(/\\(?=u[0-9a-f]{4})/g, '\\\\').replace(/^ | $|(?<= ) |[\t\n\r]/g, escaped));

const toldFor = 15000;

const child = c => (typeof c === 'string' ? shown(c) : c);

const listeners = new WeakMap(), // {type: function} by element
  keys = new WeakMap(); // by element, see redraw
const heard = e => listeners.get(e.currentTarget)[e.type](e);
const listen = (e, type, f) => {
  if (!listeners.has(e)) listeners.set(e, {});
  if (!listeners.get(e)[type]) e.addEventListener(type, heard);
  listeners.get(e)[type] = f;
};

/**
 * Creates an element. Properties that are null, undefined or false are left out. Functions are listeners, and key is
 * what redraw knows it by.
 */
export const el = (name, props, ...children) => {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(props || {})) {
    if (v === null || v === undefined || v === false) continue;
    if (typeof v === 'function') listen(e, k, v);
    else if (k === 'key') keys.set(e, v);
    else if (k === 'class') e.className = v;
    else e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false).map(child));
  return e;
};

export const dim = (...inner) => el('span', { class: 'dim' }, ...inner);
export const bad = (...inner) => el('span', { class: 'bad' }, ...inner);
/** How far a task is; nothing if that is not known. */
export const advance = t =>
  t.total ? [el('progress', { max: 100, value: t.progress, 'aria-label': 'progress' }), ` ${t.progress} %`] : '';
/** What says how far something is, or that it has failed. */
export const progress = () => el('span', { class: 'dim', role: 'status' });
export const failure = () => el('p', { role: 'alert', class: 'bad' });
export const none = (...inner) => el('p', { class: 'none' }, ...inner);
export const bar = (...inner) => el('div', { class: 'bar' }, ...inner);
export const press = (label, click, more) => el('button', { click, ...more }, label);
export const warn = (...inner) => el('p', { class: 'warn' }, ...inner);
/** What ends all of some work. */
export const endOf = ends => () => ends.forEach(end => end());

/** A choice of one of pairs [value, label]. */
export const select = (label, pairs, value, change) =>
  el('select', { 'aria-label': label, change },
    pairs.map(([v, l]) => el('option', { value: v, selected: v === value }, l)),
  );

/** Changes an element into another one with the same name, which is then thrown away. Details stay open or closed. */
const become = (e, wanted) => {
  const changes = name => !(name === 'open' && e.nodeName === 'DETAILS');
  for (const { name } of [...e.attributes]) if (!wanted.hasAttribute(name) && changes(name)) e.removeAttribute(name);
  for (const { name, value } of wanted.attributes)
    if (e.getAttribute(name) !== value && changes(name)) e.setAttribute(name, value);
  for (const [type, f] of Object.entries(listeners.get(wanted) || {})) listen(e, type, f);
  if (keys.has(wanted)) keys.set(e, keys.get(wanted));
  if (e.nodeName === 'OPTION') e.selected = wanted.selected;
  fill(e, [...wanted.childNodes]);
};

/** Removes a node and returns the next one. */
const remove = n => {
  const next = n.nextSibling;
  n.remove();
  return next;
};

/** Makes a list of nodes the children of an element. Those with the same key, or in the same place, stay and change. */
const fill = (e, wanted) => {
  const old = new Map(),
    left = new Set();
  for (const c of e.childNodes) if (keys.has(c)) old.set(keys.get(c), c);
  for (const n of wanted) if (keys.has(n)) left.add(keys.get(n));
  let at = e.firstChild;
  for (const n of wanted) {
    const key = keys.get(n);
    while (at && keys.has(at) && !left.has(keys.get(at))) at = remove(at);
    const stays = key === undefined ? (at && !keys.has(at) ? at : null) : old.get(key);
    old.delete(key);
    if (!stays || stays.nodeName !== n.nodeName) {
      e.insertBefore(n, at);
      if (stays && stays === at) at = remove(at);
      continue;
    }
    if (stays === at) at = at.nextSibling;
    else e.insertBefore(stays, at);
    if (stays.nodeType === Node.ELEMENT_NODE) become(stays, n);
    else if (stays.data !== n.data) stays.data = n.data;
  }
  while (at) at = remove(at);
};

/**
 * Makes what is wanted the content of a place, and changes only what differs: the focus, a selection, opened details and
 * the button below a pointer stay as they are.
 */
export const redraw = (place, ...wanted) => {
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  fill(place, [...el('div', {}, wanted).childNodes]);
  if (focused && focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
};

export const text = v => (v === null || v === undefined ? '' : typeof v === 'object' ? JSON.stringify(v) : String(v));
export const count = v => (typeof v === 'number' ? v.toLocaleString('en', { maximumFractionDigits: 1 }) : text(v));

/** A value that may be absent. */
export const known = (v, show) => (v === undefined ? '–' : show(v));

export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? '' : 's'}`;

export const bytes = v => {
  if (typeof v !== 'number') return text(v);
  for (const unit of ['B', 'KB', 'MB', 'GB']) {
    if (Math.abs(v) < 1000) return `${+v.toPrecision(3)} ${unit}`;
    v /= 1000;
  }
  return `${+v.toPrecision(3)} TB`;
};

/** A value with a unit of a series. */
export const measure = (v, unit) => {
  if (typeof v !== 'number') return '–';
  if (unit === 'B') return bytes(v);
  const n = v !== 0 && Math.abs(v) < 100 ? +v.toPrecision(3) : Math.round(v);
  return `${n.toLocaleString('en', { maximumFractionDigits: 3 })}${unit === '/s' ? '/s' : unit ? ` ${unit}` : ''}`;
};

export const duration = s => {
  if (typeof s !== 'number' || !isFinite(s)) return '';
  if (s < 10) return `${Math.max(0, s).toFixed(1)} s`;
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
};

/** Calls done a quarter of a second after the last key in a box. It returns what stops that. */
export const typing = (box, done) => {
  let timer = 0;
  box.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(done, 250);
  });
  return () => clearTimeout(timer);
};

let forget = 0;

/** Says something to screen readers, and to all if it is to be seen. */
export const speak = (words, seen = false) => {
  const heard = document.getElementById('heard');
  clearTimeout(forget);
  heard.textContent = shown(words);
  heard.className = seen ? 'told' : 'unseen';
};

/** Says what was done, to all and for a while: the page may be another one by then. */
export const tell = words => {
  if (!words) return;
  speak(words, true);
  forget = setTimeout(() => speak(''), toldFor);
};

let skew = 0; // the server's clock minus the browser's, in ms

/** Notes the server's time. */
export const serverTime = now => {
  if (now) skew = Date.parse(now) - Date.now();
};

const ago = t => {
  const s = (Date.now() + skew - t) / 1000;
  return s < -1 ? `in ${duration(-s)}` : s < 1 ? 'now' : `${duration(s)} ago`;
};

/** A relative time, with the absolute one on hover. */
export const time = v => {
  const t = Date.parse(v);
  return isNaN(t) ? '' : el('time', { datetime: v, title: new Date(t).toLocaleString() }, ago(t));
};

/** A time of day with tenths of a second. */
export const clock = v => {
  const t = new Date(v),
    two = n => String(n).padStart(2, '0');
  return isNaN(t)
    ? ''
    : `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}.${Math.floor(t.getMilliseconds() / 100)}`;
};

/** What begins a session at an address, which may stand for all those of its machine. */
export const psql = address => {
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(address) || [];
  return `psql -h ${/^(0\.0\.0\.0|::)?$/.test(host) ? location.hostname : host} -p ${port}`;
};

/** Updates the relative times on the page. */
export const retime = () =>
  document.querySelectorAll('time').forEach(e => {
    const now = ago(Date.parse(e.getAttribute('datetime')));
    if (e.textContent !== now) e.textContent = now;
  });

/** An address in the page. */
export const to = (path, query) =>
  '#/' + path.map(encodeURIComponent).join('/') + (query ? '?' + new URLSearchParams(query) : '');

/** A link to it. */
export const link = (path, label, query) =>
  el('a', { href: to(path, query) }, label instanceof Node ? label : named(text(label)));
export const toDatabase = name => link(['databases', name], name);
export const toNode = name => link(['nodes', name], name);

const tones = {
  good: 'ok working alive running good',
  warn: 'degraded warning pending silent initializing',
  bad: 'restarting crashing absent unavailable failed error damaged',
};
const toneOf = state => Object.keys(tones).find(t => tones[t].split(' ').includes(state)) || 'dim';

/** A state with its colour. */
export const badge = (state, label) =>
  el('span', { class: `dot ${toneOf(state)}` }, label === undefined ? text(state) : label);

export const section = (title, ...inner) =>
  el('section', { 'aria-label': named(title) }, el('h2', {}, named(title)), inner);
/** With controls beside the title. */
export const tooled = (title, tools, ...inner) =>
  el('section', { 'aria-label': title }, bar(el('h2', {}, title), tools), inner);
