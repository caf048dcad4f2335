// Buttons that do something, after a question.
import { el, bar, named, shown } from './dom.js';
import { act } from './source.js';

/** A button that asks first, and then does an action of the server. words are those of the question, see ask. */
export const button = (label, question, action, words) =>
  el('button', { class: 'danger', click: () => ask(label, question, () => act(action), undefined, words) }, label);

/** A button that asks first, and then does some work. word, if given, must be typed. */
export const confirm = (label, question, work, word) =>
  el('button', { class: 'danger', click: () => ask(label, question, work, word) }, label);

/** Asks, and does some work when the button to do so is pressed. words are what the two buttons say. */
export const ask = (label, question, work, word, { go: does = label, stay = 'Cancel' } = {}) => {
  const d = document.getElementById('ask');
  const said = el('p', { role: 'alert', class: 'bad' });
  const typed =
    word === undefined
      ? ''
      : el('input', {
          autofocus: true,
          'aria-label': `Type ${word}`,
          placeholder: word,
          input: () => {
            go.disabled = typed.value !== word;
          },
          keydown: e => {
            if (e.key !== 'Enter' || e.isComposing) return;
            e.preventDefault();
            go.click(); // nothing while it is disabled
          },
        });
  const go = el(
    'button',
    {
      class: 'danger',
      disabled: word !== undefined,
      click: async () => {
        go.disabled = true; // a second click would do it twice
        go.textContent = `${does} …`;
        said.textContent = '';
        try {
          await work();
          if (go.isConnected) d.close(); // and not another question
        } catch (e) {
          said.textContent = shown(e.message);
          go.textContent = does;
          go.disabled = false;
        }
      },
    },
    does,
  );
  d.setAttribute('aria-label', does);
  d.setAttribute('aria-describedby', 'question');
  d.replaceChildren(
    el('p', { id: 'question' }, named(question)),
    typed,
    said,
    bar(go, el('button', { click: () => d.close(), autofocus: !typed }, stay)),
  );
  d.showModal();
};
