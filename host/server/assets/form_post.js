// Posts the response to the application. The script runs in old browsers too.
/** @type {HTMLFormElement} */ (document.getElementById('answer')).submit();
