// Buttons that do something, after a question.
import { el, shown } from './dom.js';
import { act } from './source.js';

/** A button that asks first, and then does an action of the server. */
export const button = (label, question, action) => confirm(label, question, () => act(action));

/** A button that asks first, and then does some work. word, if given, must be typed. */
export const confirm = (label, question, work, word) =>
  el('button', { class: 'danger', click: () => ask(label, question, work, word) }, label);

export const ask = (label, question, work, word) => {
  const d = document.getElementById('ask');
  const said = el('p', { role: 'alert', class: 'bad' });
  const typed =
    word === undefined
      ? ''
      : el('input', {
          'aria-label': `Type ${word}`,
          placeholder: word,
          input: () => {
            go.disabled = typed.value !== word;
          },
        });
  const go = el(
    'button',
    {
      class: 'danger',
      disabled: word !== undefined,
      click: async () => {
        go.disabled = true;
        try {
          await work();
          d.close();
        } catch (e) {
          said.textContent = shown(e.message);
          go.disabled = false;
        }
      },
    },
    label,
  );
  d.setAttribute('aria-label', label);
  d.setAttribute('aria-describedby', 'question');
  d.replaceChildren(
    el('p', { id: 'question' }, question),
    typed,
    said,
    el('div', { class: 'bar' }, go, el('button', { click: () => d.close(), autofocus: true }, 'Cancel')),
  );
  d.showModal();
};
