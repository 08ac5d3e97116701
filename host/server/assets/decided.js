// A page that waits for an approval on the device: it reloads itself after the decision. The server holds each response
// until then. If a proxy ends or holds back such responses, the page asks every five seconds.
const waiting = document.querySelector('[data-decided]');
const address = waiting instanceof HTMLElement ? waiting.dataset.decided : undefined;

/** The longest time for which the server holds a response, in seconds. */
const LONGEST_HOLD = 25;
/** The time after which a response that is not held counts as lost, in milliseconds. */
const LIMIT = 5000;
/** The pause after a response, and the pause if responses are not held, in milliseconds. */
const PAUSE = 1000;
const INTERVAL = 5000;

/**
 * The state of the request, from a response that the server holds for `hold` seconds at most: whether it is decided, or
 * null without a usable response.
 * @param {number} hold
 */
async function ask(hold) {
  try {
    const signal = AbortSignal.timeout(hold * 1000 + LIMIT);
    const { status, type } = await fetch(`${address}?wait=${hold}`, { cache: 'no-store', redirect: 'manual', signal });
    if (status === 204) return false;
    // A redirect leads to the sign-in, because the session ended. Other responses are from a proxy, or pass.
    return type === 'opaqueredirect' || status === 200 || status === 404 ? true : null;
  } catch {
    // The server is not reachable at the moment.
    return null;
  }
}

/** Counts the remaining time down. */
function countDown() {
  const left = document.getElementById('left');
  const bar = document.getElementById('bar');
  if (!left || !(bar instanceof HTMLProgressElement)) return;
  const texts = JSON.parse(left.dataset.texts ?? '{}');
  const [loaded, seconds] = [Date.now(), bar.value];
  setInterval(() => {
    const now = Math.max(0, seconds - Math.floor((Date.now() - loaded) / 1000));
    bar.value = now;
    left.textContent = remainingTime(texts, now);
  }, 500);
}

async function wait() {
  let hold = LONGEST_HOLD;
  for (;;) {
    const isDecided = await ask(hold);
    if (isDecided) return location.reload();
    if (isDecided === null) hold = 0;
    await new Promise((resolve) => {
      setTimeout(resolve, hold > 0 ? PAUSE : INTERVAL);
    });
  }
}

countDown();
if (address) wait();
