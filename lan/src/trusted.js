// Shows whether this browser already trusts the trial: otherwise, a request to Assent fails.
const notice = document.getElementById('trusted');

async function ask() {
  try {
    await fetch(notice.dataset.ask, { mode: 'no-cors', cache: 'no-store' });
    document.documentElement.dataset.trusted = 'yes';
    notice.className = 'notice good';
    notice.textContent = 'This device trusts the trial. Continue below.';
  } catch {
    document.documentElement.dataset.trusted = 'no';
    notice.textContent = 'This device does not trust the trial yet.';
    setTimeout(ask, 3000);
  }
}

ask();
