// The login page continues automatically after its code was scanned. The script runs in old browsers too.
(function () {
  'use strict';

  followSignIn(/** @type {HTMLElement} */ (document.getElementById('login')), true, function () {
    location.reload();
  });
})();
