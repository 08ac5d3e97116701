// The page of a logout with the sign-out pages of applications: loads each in a hidden frame, and continues when all
// are loaded, or when their time has expired. The script creates the frames, so that it misses no load event. It runs
// in old browsers too.
(function () {
  'use strict';
  // Browsers report a frame that the page's policy blocked about when its load event comes.
  var LAST_REPORT = 100;
  var page = /** @type {HTMLElement} */ (document.getElementById('signing-out-frames'));
  var items = page.getElementsByTagName('ul')[0].getElementsByTagName('li');
  /** @type {{ key: string, address: string, isLoaded: boolean, isBlocked: boolean, note: HTMLElement }[]} */
  var frames = [];
  var isDone = false;
  var i;

  /** @param {{ isLoaded: boolean, isBlocked: boolean }} frame */
  function isOpened(frame) {
    return frame.isLoaded && !frame.isBlocked;
  }

  function proceed() {
    var opened = [];
    var j;
    if (isDone) return;
    isDone = true;
    for (j = 0; j < frames.length; j++) if (isOpened(frames[j])) opened.push(frames[j].key);
    location.replace('?loaded='.concat(encodeURIComponent(opened.join(' '))));
  }

  function update() {
    var open = 0;
    var j;
    for (j = 0; j < frames.length; j++) {
      frames[j].note.hidden = !isOpened(frames[j]);
      if (!frames[j].isLoaded && !frames[j].isBlocked) open += 1;
    }
    if (!open) setTimeout(proceed, LAST_REPORT);
  }

  /**
   * Returns whether a frame has no page. A blocker may end the request before it leaves the browser. The page of
   * another site cannot be read.
   *
   * @param {HTMLIFrameElement} element
   */
  function isEmpty(element) {
    try {
      return element.contentDocument !== null && element.contentDocument.URL === 'about:blank';
    } catch (_) {
      return false;
    }
  }

  /** @param {HTMLElement} item */
  function add(item) {
    var element = document.createElement('iframe');
    var frame = {
      key: item.getAttribute('data-frame') || '',
      address: item.getAttribute('data-address') || '',
      isLoaded: false,
      isBlocked: false,
      note: item.getElementsByTagName('span')[0],
    };
    frames.push(frame);
    element.className = 'unseen';
    element.setAttribute('sandbox', 'allow-scripts allow-forms allow-same-origin');
    element.title = item.getAttribute('data-title') || '';
    element.addEventListener('load', function () {
      if (isEmpty(element)) return;
      frame.isLoaded = true;
      update();
    });
    element.src = frame.address;
    item.appendChild(element);
  }

  // The browser has blocked a frame, for example because its page redirects to another origin. Some browsers name only
  // the origin.
  document.addEventListener('securitypolicyviolation', function (event) {
    var j;
    if (!event.blockedURI) return;
    for (j = 0; j < frames.length; j++)
      if (frames[j].address.indexOf(event.blockedURI) === 0) frames[j].isBlocked = true;
    update();
  });

  for (i = 0; i < items.length; i++) add(items[i]);
  setTimeout(proceed, 1000 * parseInt(page.getAttribute('data-seconds') || '0', 10));
})();
