// A form is sent once: its buttons cannot be pressed a second time while the response is under way. The script runs in
// old browsers too. Without it the server answers a repeated form correctly, too.
(function () {
  'use strict';

  /** The time after which the buttons work again, because no response has come, in milliseconds. */
  var PATIENCE = 10000;
  /** @type {HTMLButtonElement[]} */
  var disabled = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  var timer;
  var sending = false;

  function enable() {
    clearTimeout(timer);
    disabled.forEach(function (button) {
      button.disabled = false;
    });
    disabled = [];
    sending = false;
  }

  function disable() {
    [].forEach.call(document.querySelectorAll('form button'), function (/** @type {HTMLButtonElement} */ button) {
      if (!button.disabled) {
        button.disabled = true;
        disabled.push(button);
      }
    });
  }

  document.addEventListener('submit', function (event) {
    if (event.defaultPrevented) return;
    if (sending) {
      event.preventDefault();
      return;
    }
    sending = true;
    // The browser collects the fields after this event, and a disabled button would not be one of them.
    setTimeout(disable, 0);
    timer = setTimeout(enable, PATIENCE);
  });
  // The user came back from the response.
  window.addEventListener('pageshow', function (event) {
    if (event.persisted) enable();
  });
})();
