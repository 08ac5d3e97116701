// The waiting page: continues when the sign-in does, and counts the seconds down. The script runs in old browsers too.
(function () {
  'use strict';

  var page = /** @type {HTMLElement} */ (document.getElementById('waiting'));
  var left = /** @type {HTMLElement} */ (document.getElementById('left'));
  var say = /** @type {HTMLElement} */ (document.getElementById('say'));
  var bar = /** @type {HTMLProgressElement} */ (document.getElementById('bar'));
  var seconds = parseInt(page.getAttribute('data-seconds') || '0', 10) || 0;
  var loaded = Date.now();
  var reloading = false;
  var said = seconds;
  var nothing = /** @type {HTMLElement} */ (document.getElementById('nothing'));
  var asked = nothing.className.indexOf('late') < 0;

  function reload() {
    if (!reloading) {
      reloading = true;
      location.reload();
    }
  }

  // A submitted form causes an event as well. A reload would then cancel the response to the form.
  document.addEventListener('submit', function () {
    reloading = true;
  });
  // The user came back from the authenticator in this tab. The sign-in may have a new state.
  window.addEventListener('pageshow', function (event) {
    if (event.persisted) {
      reloading = false;
      reload();
    }
  });

  /** @typedef {import('./authenticator/messages.js').Part} Part */

  // The texts are lists of parts, as in authenticator/texts.js. A browser without plural rules has two categories.
  /** @type {Record<string, Part[]>} */
  var texts = JSON.parse(page.getAttribute('data-texts') || '{}');
  var plurals = typeof Intl !== 'undefined' && Intl.PluralRules && new Intl.PluralRules(document.documentElement.lang);

  /** @param {number} count */
  function category(count) {
    return plurals ? plurals.select(count) : count === 1 ? 'one' : 'other';
  }

  /**
   * @param {Part[]} parts
   * @param {Record<string, number>} values
   * @returns {string}
   */
  function fill(parts, values) {
    var words = '';
    var part;
    var i;
    for (i = 0; i < parts.length; i += 1) {
      part = parts[i];
      if (typeof part === 'string') words += part;
      else if ('plural' in part) words += fill(part[category(values[part.plural])] || part.other, values);
      else words += values[part.value];
    }
    return words;
  }

  /** @param {number} count */
  function inWords(count) {
    if (count < 60) return fill(texts['waiting-left'], { seconds: count });
    return fill(texts['waiting-left-minutes'], { minutes: Math.floor(count / 60), seconds: count % 60 });
  }

  /**
   * Screen readers announce the time only a few times, because each second would be too much.
   * @param {number} mark
   * @param {number} now
   */
  function speakAt(mark, now) {
    if (said > mark && now <= mark) {
      say.textContent = inWords(now);
      said = now;
    }
  }

  /**
   * After 15 seconds, for every name alike, the page asks whether the request arrived. Without this script the
   * stylesheet shows the question, but only to sighted users.
   * @param {number} now
   */
  function askAt(now) {
    if (!asked && bar.max - now >= 15) {
      asked = true;
      nothing.className = nothing.className.replace(' late', '');
      say.textContent = /** @type {HTMLElement} */ (document.getElementById('nothing-title')).textContent;
    }
  }

  function count() {
    var now = Math.max(0, seconds - Math.floor((Date.now() - loaded) / 1000));
    askAt(now);
    left.textContent = inWords(now);
    bar.value = now;
    speakAt(60, now);
    speakAt(30, now);
    speakAt(10, now);
    if (now === 0) {
      clearInterval(timer);
      // The server decides about the expiry, and its clock may be a little behind.
      setTimeout(reload, 1000);
    }
  }

  function ask() {
    setTimeout(reload, 3000);
  }

  var timer = setInterval(count, 500);
  count();

  if (typeof EventSource === 'undefined') {
    ask();
    return;
  }
  var events = new EventSource(page.getAttribute('data-events') || '');
  events.addEventListener('changed', function () {
    events.close();
    reload();
  });
  events.onerror = function () {
    // The browser reconnects automatically unless it gave up.
    if (events.readyState === 2) {
      ask();
    }
  };
  // The browser of a phone may freeze the page while the user is in the authenticator, and miss the event.
  document.addEventListener('visibilitychange', function () {
    if (!document.hidden && events.readyState !== 1) {
      reload();
    }
  });
})();
