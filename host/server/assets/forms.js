// A form is sent once: until its response arrives, no button works. The script runs in old browsers too.
(function () {
  'use strict';

  /** @type {HTMLButtonElement[]} */
  var off = [];
  var sending = false;

  function enable() {
    off.forEach(function (button) {
      button.disabled = false;
    });
    sending = false;
  }

  document.addEventListener('submit', function (event) {
    if (sending) event.preventDefault();
    if (event.defaultPrevented) return;
    sending = true;
    // The browser reads the fields after this event, and would leave out a disabled button.
    setTimeout(function () {
      off = [].slice.call(document.querySelectorAll('form button:enabled'));
      off.forEach(function (button) {
        button.disabled = true;
      });
    }, 0);
    // Perhaps no response comes.
    setTimeout(enable, 10000);
  });
  // The user came back from the response.
  window.addEventListener('pageshow', function (event) {
    if (event.persisted) enable();
  });
})();
