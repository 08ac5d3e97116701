// Follows the state of a sign-in, for the pages that continue when it changes. The server sends events. A blocker may
// block them, and a proxy or a virus scanner may hold them back, so a silent stream is not trusted: the page then asks
// for the state. The script runs in old browsers too.

/**
 * Calls `changed` once, when the sign-in has another state than the page. `restsHidden` stops it while the page is
 * hidden.
 * @param {HTMLElement} page the element with the addresses and the state of the page
 * @param {boolean} restsHidden
 * @param {() => void} changed
 */
// biome-ignore lint/correctness/noUnusedVariables: the script after this one in the same file calls it
function followSignIn(page, restsHidden, changed) {
  'use strict';

  // The server sends an event every five seconds. The limit for silence leaves time for the network.
  var SILENCE_MS = 7000;
  var INTERVAL_MS = 5000;
  // A rejected stream is opened again after this time.
  var AGAIN_MS = 30000;
  // After this time without a response to a form, its buttons work again, as in forms.js.
  var LOST_MS = 10000;

  /** @type {EventSource | null} */
  var events = null;
  /** @type {XMLHttpRequest | null} */
  var question = null;
  var ended = false;
  // The first question follows five seconds after the page, unless the stream has begun.
  var heard = Date.now() - SILENCE_MS + INTERVAL_MS;
  var asked = 0;
  var opened = 0;

  function close() {
    if (events) events.close();
    events = null;
    if (question) question.abort();
    question = null;
  }

  function stop() {
    ended = true;
    close();
  }

  function resume() {
    ended = false;
    opened = 0;
    asked = 0;
    heard = 0;
    look();
  }

  function finish() {
    if (ended) return;
    stop();
    changed();
  }

  /**
   * Compares the state of the sign-in with that of the page. A text from a proxy is no state.
   * @param {unknown} state
   */
  function compare(state) {
    if (typeof state === 'string' && state !== '' && state !== page.getAttribute('data-state')) finish();
  }

  /** @param {MessageEvent} event */
  function hear(event) {
    heard = Date.now();
    compare(event.data);
  }

  function open() {
    opened = Date.now();
    if (typeof EventSource === 'undefined') return;
    events = new EventSource(page.getAttribute('data-events') || '');
    events.addEventListener('alive', hear);
    events.addEventListener('changed', finish);
    events.onerror = function () {
      // The browser reconnects by itself, unless the response was no stream of events.
      if (events && events.readyState === 2) events = null;
    };
  }

  /**
   * The state in a response; undefined if the response is not from this server, but from a proxy.
   * @param {string} text
   */
  function stateIn(text) {
    try {
      return JSON.parse(text).state;
    } catch (_) {
      return undefined;
    }
  }

  function ask() {
    asked = Date.now();
    if (question) question.abort();
    var request = new XMLHttpRequest();
    question = request;
    request.open('GET', page.getAttribute('data-ask') || '');
    request.timeout = INTERVAL_MS;
    request.onload = function () {
      if (request.status === 200) compare(stateIn(request.responseText));
    };
    request.send();
  }

  function look() {
    if (ended) return;
    if (restsHidden && document.hidden) {
      close();
      return;
    }
    var now = Date.now();
    if (!events && now - opened >= AGAIN_MS) open();
    if (now - heard >= SILENCE_MS && now - asked >= INTERVAL_MS) ask();
  }

  // A browser freezes a hidden page, which may miss an event.
  document.addEventListener('visibilitychange', function () {
    if (restsHidden && !document.hidden) opened = 0;
    look();
  });
  // A submitted form changes the state as well. A reload would then cancel the response to the form. If the network
  // hangs, no response comes, and the user may have stopped to wait for it.
  document.addEventListener('submit', function () {
    stop();
    setTimeout(resume, LOST_MS);
  });
  // The user came back to the page, which the browser had kept.
  window.addEventListener('pageshow', function (event) {
    if (event.persisted) resume();
  });
  setInterval(look, 1000);
  look();
}
