// Posts the answer to the application. It runs in old browsers too.
/** @type {HTMLFormElement} */ (document.getElementById('answer')).submit();
