// Signing in again on a page whose session has ended. The page stays as it is, with edits that are not saved.
import { el, bar, shown, failure } from './dom.js';
import { signIn } from './source.js';

/** Asks for a name, which is usually the one given, and a password. edits: the page has some that are not saved. */
export const signingIn = (user, edits) => {
  const name = el('input', {
      name: 'username', autocomplete: 'username', autocapitalize: 'none', spellcheck: 'false', required: true,
      value: user, autofocus: !user,
    }),
    password = el('input', {
      name: 'password', type: 'password', autocomplete: 'current-password', required: true, autofocus: !!user,
    }),
    go = el('button', { class: 'main' }, 'Sign in'),
    said = failure();
  const submit = async e => {
    e.preventDefault();
    if (go.disabled) return;
    go.disabled = true;
    said.textContent = '';
    try {
      await signIn(name.value, password.value);
    } catch (problem) {
      said.textContent = shown(problem.message);
      password.select();
    } finally {
      go.disabled = false;
    }
  };
  const d = el('dialog', { 'aria-label': 'Sign in again', close: () => d.remove() },
    el('form', { class: 'signin', submit },
      el('label', {}, 'Name', name),
      el('label', {}, 'Password', password),
      said,
      bar(go, el('button', { type: 'button', click: () => d.close() }, 'Cancel')),
    ),
    el('p', { class: 'dim' },
      edits && `Edits of ${user} on this page stay. `,
      'You can also sign in ',
      el('a', { href: '/_dashboard/', target: '_blank', rel: 'noopener' }, 'in a new tab'),
      ', as the first time.',
    ),
  );
  window.addEventListener(
    'signedin',
    () => {
      if (!d.isConnected) return;
      d.close();
      document.getElementById('view').focus(); // the button that was used goes
    },
    { once: true },
  );
  document.body.append(d);
  d.showModal();
};
