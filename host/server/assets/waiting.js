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
  var over = false;
  var said = seconds;
  // After this time without a response to a form, the page continues, as in follow_sign_in.js.
  var LOST_MS = 10000;
  var nothing = /** @type {HTMLElement} */ (document.getElementById('nothing'));
  var asked = nothing.className.indexOf('late') < 0;

  function reload() {
    if (!reloading) {
      reloading = true;
      location.reload();
    }
  }

  function resume() {
    reloading = false;
    if (over) reload();
  }

  // The end of the time must not cancel the response to a form.
  document.addEventListener('submit', function () {
    reloading = true;
    setTimeout(resume, LOST_MS);
  });
  window.addEventListener('pageshow', function (event) {
    if (event.persisted) resume();
  });

  /** @type {Record<string, import('./authenticator/messages.js').Part[]>} */
  var texts = JSON.parse(page.getAttribute('data-texts') || '{}');

  /** @param {number} count */
  function inWords(count) {
    return remainingTime(texts, count);
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
      setTimeout(function () {
        over = true;
        reload();
      }, 1000);
    }
  }

  var timer = setInterval(count, 500);
  count();
  followSignIn(page, false, reload);
})();
