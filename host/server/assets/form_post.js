// Posts the message to the application, once. After a reload, or when the user comes back, the application has it
// already. The script runs in old browsers too.
(function () {
  'use strict';

  var form = /** @type {HTMLFormElement} */ (document.getElementById('answer'));
  var posting = /** @type {HTMLElement} */ (document.getElementById('posting'));
  var KEY = 'assent-posted';

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
    posting.hidden = true;
    /** @type {HTMLElement} */ (document.getElementById('posted')).hidden = false;
  }

  // The id of the message. The fields do not suffice: a user who cancels twice sends the same ones. Without storage
  // the mark is only in this tab.
  var message = posting.getAttribute('data-answer') || '';
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
