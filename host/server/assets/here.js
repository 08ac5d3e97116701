// A browser with a key of the authenticator needs neither a name, a code nor a number: its button comes first. The
// script runs in old browsers too.
(function () {
  'use strict';

  var here = document.getElementById('here');

  /** Whether the authenticator of this browser has an account, according to the item of `authenticator/store.js`. */
  function holdsKey() {
    try {
      return localStorage.getItem('assent-authenticator') === 'enrolled';
    } catch (_) {
      // The browser stores nothing for this site.
      return false;
    }
  }

  if (!here || !holdsKey()) {
    return;
  }
  here.hidden = false;
  var card = /** @type {Element} */ (here.parentNode);
  card.className += ' with-key';
  // The other device is not used: so the title does not name it either, and the number is for another request.
  [].forEach.call(card.querySelectorAll('[data-here]'), function (/** @type {Element} */ text) {
    var words = text.getAttribute('data-here') || '';
    text.textContent = words;
    if (text.tagName === 'H1') document.title = words;
  });
  [].forEach.call(card.querySelectorAll('.ways .primary'), function (/** @type {Element} */ button) {
    button.className = button.className.replace(' primary', '');
  });
  /** @type {HTMLElement} */ (here.querySelector('a')).focus();
})();
