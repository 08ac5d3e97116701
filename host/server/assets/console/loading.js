// The console while its modules are loaded. It shows that the page is being loaded, and offers to try again if the
// server does not send a module. It is no module, so that it runs earlier, and has its texts in both languages.
(() => {
  const loading = document.getElementById('loading');
  if (!loading) return;
  /** The time after which the page says that it takes long, in milliseconds. */
  const LONG = 15_000;
  /** The storage key of the language, as in `language.js`. */
  const KEY = 'assent-console-language';

  let language = navigator.language.startsWith('de') ? 'de' : 'en';
  try {
    language = localStorage.getItem(KEY) ?? language;
  } catch {
    // The browser stores nothing.
  }
  const texts =
    language === 'de'
      ? {
          loading: 'Wird geladen …',
          long: 'Das Laden dauert länger als üblich.',
          away: 'Keine Antwort',
          failed: 'Der Server antwortet nicht. Prüfen Sie die Verbindung.',
          again: 'Erneut versuchen',
        }
      : {
          loading: 'Loading…',
          long: 'Loading takes longer than usual.',
          away: 'No answer',
          failed: 'The server does not respond. Check the connection.',
          again: 'Try again',
        };
  const title = loading.querySelector('h1');
  const status = loading.querySelector('p');
  if (title) title.textContent = texts.loading;
  if (language === 'de') document.documentElement.lang = 'de';
  loading.hidden = false;

  /**
   * Says what happens, and offers to load the page again.
   * @param {string} text
   */
  function offer(text) {
    if (!loading?.isConnected || !status) return;
    status.textContent = text;
    if (loading.querySelector('button')) return;
    const again = document.createElement('button');
    again.type = 'button';
    again.className = 'button primary';
    again.textContent = texts.again;
    again.addEventListener('click', () => location.reload());
    status.after(again);
  }

  setTimeout(() => offer(texts.long), LONG);
  // The event of a script does not bubble.
  addEventListener(
    'error',
    (event) => {
      if (!(event.target instanceof HTMLScriptElement)) return;
      loading.querySelector('.skeleton')?.remove();
      if (title) title.textContent = texts.away;
      offer(texts.failed);
    },
    true,
  );
})();
