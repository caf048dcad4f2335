// What is read once, and again after failures that pass: a store that does not answer is back after a while.
import { el, shown } from './dom.js';
import { ended } from './source.js';

const every = 3000;

/** Whether the same request may succeed later: nothing is wrong with the request itself. */
const passes = e =>
  typeof e.code === 'string' ? /^(08|40|53|57|58|XX)/.test(e.code) : !(e.status >= 400 && e.status < 500);

/**
 * Returns a function that does some work, and again until it succeeds or fails for good, and ends, which gives up. fail
 * gets the error and whether the work is done again, and say what is not up to date, or null.
 */
export const recovering = (work, fail, say) => {
  let timer = 0,
    stopped = false,
    turn = 0;
  const go = async () => {
    const mine = ++turn;
    clearTimeout(timer);
    try {
      await work();
      if (!stopped && mine === turn) say(null);
    } catch (e) {
      if (stopped || mine !== turn) return;
      const again = passes(e) && !ended();
      fail(e, again);
      if (!again) return;
      say(e.message);
      timer = setTimeout(go, every);
    }
  };
  go.ends = () => {
    stopped = true;
    clearTimeout(timer);
  };
  return go;
};

/** What is wrong, with a button to try again at once. */
export const trouble = (e, again) =>
  el(
    'p',
    { class: 'bar', role: 'alert' },
    el('span', { class: 'bad' }, shown(e.message)),
    el('button', { click: again }, 'Retry'),
  );
