// Posts the message to the application, once. After a reload, or when the user comes back, the application has it
// already. The script runs in old browsers too.
(function () {
  'use strict';

  var form = /** @type {HTMLFormElement} */ (document.getElementById('answer'));
  var KEY = 'assent-posted';

  /** A text that differs for each message, and is no secret. Without storage only this tab knows what it posted. */
  function mark() {
    var fields = form.querySelectorAll('input');
    var text = form.action;
    var hash = 5381;
    var i;
    for (i = 0; i < fields.length; i += 1) text = [text, fields[i].value].join('\n');
    for (i = 0; i < text.length; i += 1) hash = ((hash << 5) + hash + text.charCodeAt(i)) | 0;
    return [hash, text.length].join('.');
  }

  /** @returns {string[]} */
  function posted() {
    try {
      return JSON.parse(localStorage.getItem(KEY) || '[]');
    } catch (_) {
      return [];
    }
  }

  /** @param {string} message */
  function remember(message) {
    try {
      history.replaceState({ posted: true }, '');
      localStorage.setItem(KEY, JSON.stringify(posted().concat(message).slice(-20)));
    } catch (_) {
      // The browser stores nothing for this site.
    }
  }

  function showPosted() {
    /** @type {HTMLElement} */ (document.getElementById('posting')).hidden = true;
    /** @type {HTMLElement} */ (document.getElementById('posted')).hidden = false;
  }

  var message = mark();
  if ((history.state && history.state.posted) || posted().indexOf(message) >= 0) {
    showPosted();
  } else {
    remember(message);
    form.submit();
  }
  window.addEventListener('pageshow', function (event) {
    if (event.persisted) showPosted();
  });
})();
