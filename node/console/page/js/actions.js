// Buttons that do something, after a question.
import { el, press, bar, named, shown, tell, failure } from './dom.js';
import { act } from './source.js';

/** A button that asks first, and then does some work. It takes what ask does. */
export const confirm = (label, ...asked) =>
  press(label, () => ask(label, ...asked), { class: 'danger' });

/** The same for an action of the server. words are those of the question, see ask. */
export const button = (label, question, action, words) =>
  confirm(label, question, () => act(action), undefined, words);

/**
 * Asks, and does some work when the button to do so is pressed. It returns what is then told. word, if given, must be
 * typed. go and stay are what the two buttons say, and more are further ones, with their work.
 */
export const ask = (label, question, work, word, { go: does = label, stay = 'Cancel', more = {} } = {}) => {
  const d = document.getElementById('ask');
  const said = failure();
  const typed =
    word === undefined
      ? ''
      : el('input', {
          autofocus: true,
          'aria-label': `Type ${word}`,
          placeholder: word,
          input: () => {
            go[0].disabled = typed.value !== word;
          },
          keydown: e => {
            if (e.key !== 'Enter' || e.isComposing) return;
            e.preventDefault();
            go[0].click(); // nothing while it is disabled
          },
        });
  const go = Object.entries({ [does]: work, ...more }).map(([does, work]) => {
    const b = el('button', { class: 'danger', disabled: word !== undefined }, does);
    b.addEventListener('click', async () => {
      const busy = is => go.forEach(other => (other.disabled = is)); // a second click would do it twice
      busy(true);
      b.textContent = `${does} …`;
      said.textContent = '';
      try {
        const done = await work();
        if (b.isConnected) d.close(); // and not another question
        tell(done);
      } catch (e) {
        said.textContent = shown(e.message);
        if (!d.open || !b.isConnected) tell(`${does}: ${e.message}`); // the page was left
        b.textContent = does;
        busy(false);
        b.focus();
      }
    });
    return b;
  });
  d.close(); // another question
  d.setAttribute('aria-label', does);
  d.setAttribute('aria-describedby', 'question');
  d.replaceChildren(
    el('p', { id: 'question' }, named(question)),
    typed,
    said,
    bar(go, press(stay, () => d.close(), { autofocus: !typed })),
  );
  d.onclose = () => {
    // What was used to ask may have gone with what was done.
    const at = document.activeElement;
    if (!d.open && (at === document.body || d.contains(at)))
      document.getElementById('view').focus({ preventScroll: true });
  };
  d.showModal();
};
