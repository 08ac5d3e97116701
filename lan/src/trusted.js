// Shows whether this browser already trusts the trial: otherwise, a request to Assent fails.
const told = document.getElementById('trusted');

async function ask() {
  try {
    await fetch(told.dataset.ask, { mode: 'no-cors', cache: 'no-store' });
    document.documentElement.dataset.trusted = 'yes';
    told.className = 'notice good';
    told.textContent = 'This device trusts the trial. Continue below.';
  } catch {
    document.documentElement.dataset.trusted = 'no';
    told.textContent = 'This device does not trust the trial yet.';
    setTimeout(ask, 3000);
  }
}

ask();
