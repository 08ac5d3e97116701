// The login page goes on by itself once its code was scanned. It runs in old browsers too.
(function () {
  'use strict';

  var page = /** @type {HTMLElement} */ (document.getElementById('login'));
  var address = page.getAttribute('data-events') || '';
  /** @type {EventSource | null} */
  var events = null;
  var over = false;

  if (typeof EventSource === 'undefined') {
    return;
  }

  // A page that nobody looks at asks for nothing.
  function look() {
    if (document.hidden || over) {
      if (events) {
        events.close();
        events = null;
      }
    } else if (!events) {
      events = new EventSource(address);
      events.addEventListener('changed', function () {
        over = true;
        if (events) events.close();
        location.reload();
      });
      events.onerror = function () {
        // The browser connects again by itself unless it was refused.
        if (events && events.readyState === 2) {
          events = null;
          setTimeout(look, 5000);
        }
      };
    }
  }

  // What a form of this page does is an event as well. A reload would then stop the form's own answer.
  document.addEventListener('submit', function () {
    over = true;
    look();
  });
  // The user came back from the answer.
  window.addEventListener('pageshow', function (event) {
    if (event.persisted) {
      over = false;
      look();
    }
  });
  document.addEventListener('visibilitychange', look);
  look();
})();
