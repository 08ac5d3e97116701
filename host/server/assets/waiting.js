// The waiting page: goes on when the sign-in does, and counts the seconds down. It runs in old browsers too.
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

  // What a form of this page does is an event as well. A reload would then stop the form's own answer.
  document.addEventListener('submit', function () {
    reloading = true;
  });
  // The user came back from the authenticator in this tab. The sign-in may be another one by now.
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
   * Screen readers read the time a few times only, because each second would be too much.
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
   * After 15 seconds, for every name alike, the page asks whether nothing arrived. The stylesheet shows the question
   * without this script, but to sighted users only.
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
      // The server decides when time is up, and its clock may be a little behind.
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
    // The browser connects again by itself unless it gave up.
    if (events.readyState === 2) {
      ask();
    }
  };
  // A phone's browser may freeze the page while its owner is in the authenticator, and miss the event.
  document.addEventListener('visibilitychange', function () {
    if (!document.hidden && events.readyState !== 1) {
      reload();
    }
  });
})();
