// What is read once, and again after failures that pass: a store that does not answer is back after a while.
import { el, shown } from './dom.js';
import { ended, later } from './source.js';

const every = 3000;

/** Whether the same request may succeed later: nothing is wrong with the request itself. */
const passes = e =>
  typeof e.code === 'string' ? /^(08|40|53|57|58|XX)/.test(e.code) : !(e.status >= 400 && e.status < 500);

/**
 * Returns a function that does some work, and again until it succeeds or fails for good, and ends, which gives up. work
 * gets a function that reports whether its result is still wanted, fail the error and whether the work is done again,
 * and say what is not up to date, or null.
 */
export const recovering = (work, fail, say) => {
  let cancel = () => {},
    stopped = false,
    turn = 0;
  const go = async () => {
    const mine = ++turn;
    cancel();
    try {
      await work(() => !stopped && mine === turn);
      if (!stopped && mine === turn) say(null);
    } catch (e) {
      if (stopped || mine !== turn) return;
      const again = passes(e) && !ended();
      fail(e, again);
      say(again ? e.message : null);
      if (!again) return;
      cancel = later(go, every);
    }
  };
  go.ends = () => {
    stopped = true;
    cancel();
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
