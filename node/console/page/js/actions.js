// Buttons that do something, after a question.
import { el } from './dom.js';
import { act } from './source.js';

/** A button that asks first. */
export const button = (label, question, action) => el('button', { class: 'danger', click: () => ask(label, question, action) }, label);

const ask = (label, question, action) => {
  const d = document.getElementById('ask');
  const said = el('p', { role: 'alert', class: 'bad' });
  const go = el('button', { class: 'danger', click: async () => {
    go.disabled = true;
    try { await act(action); d.close(); } catch (e) { said.textContent = e.message; go.disabled = false; }
  } }, label);
  d.replaceChildren(el('p', {}, question), said, el('div', { class: 'bar' }, go, el('button', { click: () => d.close(), autofocus: true }, 'Cancel')));
  d.showModal();
};
