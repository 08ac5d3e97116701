// The page of a logout: continues when the application in the frame has responded, or when its time has expired. The
// script runs in old browsers too.
(function () {
  'use strict';
  var page = /** @type {HTMLElement} */ (document.getElementById('signing-out'));
  var frame = page.getElementsByTagName('iframe')[0];

  function reload() {
    location.reload();
  }

  // The content of the frame is accessible only when it is from this server again.
  function look() {
    try {
      if (frame.contentDocument && frame.contentDocument.getElementById('answered')) reload();
    } catch (_error) {
      // The frame still has the application's content.
    }
  }

  frame.addEventListener('load', look);
  look();
  setTimeout(reload, 1000 * parseInt(page.getAttribute('data-seconds') || '0', 10));
})();
