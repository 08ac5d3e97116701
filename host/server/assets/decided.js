// A page that waits for an approval on the device: it reloads itself after the decision.
const waiting = document.querySelector('[data-decided]');
const address = waiting instanceof HTMLElement ? waiting.dataset.decided : undefined;

/** The pause after a response without a decision, and after a failure, in milliseconds. */
const PAUSE = 1000;

async function wait() {
  for (;;) {
    try {
      const { status } = await fetch(address ?? '', { cache: 'no-store', redirect: 'manual' });
      // 204: still pending. A redirect leads to the sign-in, because the session ended.
      if (status !== 204) return location.reload();
    } catch {
      // The server is not reachable at the moment.
    }
    await new Promise((resolve) => {
      setTimeout(resolve, PAUSE);
    });
  }
}

if (address) wait();
