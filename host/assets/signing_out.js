// The page of a logout: goes on when the time of the application is over that is told. It runs in old browsers too.
(function () {
  'use strict';
  var page = document.getElementById('signing-out');
  setTimeout(function () { location.reload(); }, 1000 * parseInt(page.getAttribute('data-seconds'), 10));
})();
