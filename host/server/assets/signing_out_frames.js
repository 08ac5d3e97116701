// The page of a logout with the sign-out pages of applications: loads each in a hidden frame, and continues when all
// are loaded, or when their time has expired. The script creates the frames, so that it misses no load event. It runs
// in old browsers too.
(function () {
  'use strict';
  var page = /** @type {HTMLElement} */ (document.getElementById('signing-out-frames'));
  var items = page.getElementsByTagName('ul')[0].getElementsByTagName('li');
  /** @type {string[]} */
  var loaded = [];
  var isDone = false;
  var i;

  function proceed() {
    if (isDone) return;
    isDone = true;
    location.replace('?loaded='.concat(encodeURIComponent(loaded.join(' '))));
  }

  /** @param {HTMLElement} item */
  function load(item) {
    var frame = document.createElement('iframe');
    var application = item.getAttribute('data-application') || '';
    var isLoaded = false;
    frame.className = 'unseen';
    frame.setAttribute('sandbox', 'allow-scripts allow-forms allow-same-origin');
    frame.title = item.getAttribute('data-title') || '';
    frame.addEventListener('load', function () {
      if (isLoaded) return;
      isLoaded = true;
      loaded.push(application);
      item.getElementsByTagName('span')[0].hidden = false;
      if (loaded.length === items.length) proceed();
    });
    frame.src = item.getAttribute('data-address') || '';
    item.appendChild(frame);
  }

  for (i = 0; i < items.length; i++) load(items[i]);
  setTimeout(proceed, 1000 * parseInt(page.getAttribute('data-seconds') || '0', 10));
})();
