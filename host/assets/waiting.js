// The waiting page: goes on when the sign-in does, and counts the seconds down. It runs in old browsers too.
(function () {
  'use strict';

  var page = document.getElementById('waiting');
  var left = document.getElementById('left');
  var say = document.getElementById('say');
  var bar = document.getElementById('bar');
  var seconds = parseInt(page.getAttribute('data-seconds'), 10) || 0;
  var loaded = new Date().getTime();
  var reloading = false;
  var said = seconds;

  function reload() {
    if (!reloading) {
      reloading = true;
      location.reload();
    }
  }

  function inWords(count) {
    var minutes = Math.floor(count / 60);
    var rest = count % 60;
    var words = rest + (rest === 1 ? ' second' : ' seconds');
    if (minutes > 0) {
      words = minutes + (minutes === 1 ? ' minute ' : ' minutes ') + words;
    }
    return words + ' left';
  }

  // Spoken a few times only: a voice that counts every second drowns all else.
  function speakAt(mark, now) {
    if (said > mark && now <= mark) {
      say.textContent = inWords(now);
      said = now;
    }
  }

  function count() {
    var now = Math.max(0, seconds - Math.floor((new Date().getTime() - loaded) / 1000));
    left.textContent = inWords(now);
    bar.value = now;
    speakAt(60, now);
    speakAt(30, now);
    speakAt(10, now);
    if (now === 0) {
      clearInterval(timer);
      // The server decides when time is up, and its clock may be a little behind.
      setTimeout(reload, 1000);
    }
  }

  function ask() {
    setTimeout(reload, 3000);
  }

  var timer = setInterval(count, 500);
  count();

  if (typeof EventSource === 'undefined') {
    ask();
    return;
  }
  var events = new EventSource(page.getAttribute('data-events'));
  events.addEventListener('changed', function () {
    events.close();
    reload();
  });
  events.onerror = function () {
    // The browser connects again by itself unless it gave up.
    if (events.readyState === 2) {
      ask();
    }
  };
  // A phone's browser may freeze the page while its owner is in the authenticator, and miss the event.
  document.addEventListener('visibilitychange', function () {
    if (!document.hidden && events.readyState !== 1) {
      reload();
    }
  });
}());
