// The login page continues automatically after its code was scanned. The script runs in old browsers too.
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

  // A hidden page does not connect.
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
        // The browser reconnects automatically unless the server rejected it.
        if (events && events.readyState === 2) {
          events = null;
          setTimeout(look, 5000);
        }
      };
    }
  }

  // A submitted form causes an event as well. A reload would then cancel the response to the form.
  document.addEventListener('submit', function () {
    over = true;
    look();
  });
  // The user came back from the response.
  window.addEventListener('pageshow', function (event) {
    if (event.persisted) {
      over = false;
      look();
    }
  });
  document.addEventListener('visibilitychange', look);
  look();
})();
