// What is read once, and again after an outage: a store that does not answer is back after a while.
import { el, press, shown, bad } from './dom.js';
import { ended, later, onReturn } from './source.js';

const first = 3000,
  longest = 30000; // pauses, of which each is twice the one before

/**
 * Whether an error passes: the node or the store does not answer, or the session has ended. Other errors would only
 * cost what the work costs again, such as a statement that takes too long or too much memory, or that somebody has
 * cancelled.
 */
const passes = e => e.outage || e.signedOut || e.code === '57P03';

/**
 * Returns a function that does some work, and again after pauses while there is an outage, or when somebody has signed
 * in again, and ends, which gives up.
 * work gets a function that reports whether its result is still wanted, fail the error and whether the work is done
 * again, and say what is not up to date, or null.
 */
export const recovering = (work, fail, say) => {
  let cancel = () => {},
    stopped = false,
    turn = 0;
  const attempt = async pause => {
    const mine = ++turn;
    cancel();
    try {
      await work(() => !stopped && mine === turn);
      if (!stopped && mine === turn) say(null);
    } catch (e) {
      if (stopped || mine !== turn) return;
      const again = passes(e);
      fail(e, again);
      say(again && !ended() ? e.message : null);
      if (!again) return;
      cancel = (ended() ? onReturn : later)(() => attempt(Math.min(longest, 2 * pause)), pause);
    }
  };
  const go = () => attempt(first);
  go.ends = () => {
    stopped = true;
    cancel();
  };
  return go;
};

/** What is wrong, with a button to try again at once. */
export const trouble = (e, again) =>
  el('p', { class: 'bar', role: 'alert' }, bad(shown(e.message)), press('Retry', again));
