// The page of a logout: goes on when the application in the frame has answered, or when its time is over. It runs in
// old browsers too.
(function () {
  'use strict';
  var page = /** @type {HTMLElement} */ (document.getElementById('signing-out'));
  var frame = page.getElementsByTagName('iframe')[0];

  function reload() {
    location.reload();
  }

  // What the frame holds can only be seen once it is ours again.
  function look() {
    try {
      if (frame.contentDocument && frame.contentDocument.getElementById('answered')) reload();
    } catch (_error) {
      // It is the application's still.
    }
  }

  frame.addEventListener('load', look);
  look();
  setTimeout(reload, 1000 * parseInt(page.getAttribute('data-seconds') || '0', 10));
})();
