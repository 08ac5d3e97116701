// Copies the reference of a rejected sign-in. The page would soon return to the application, so it is loaded again in
// its form that stays. Without this script the user selects the text.
(() => {
  const copying = document.getElementById('copying');
  const copy = document.getElementById('copy');
  const copied = document.getElementById('copied');
  const reference = document.getElementById('reference');
  const stay = document.getElementById('stay');
  if (!copying || !copy || !copied || !reference) return;

  copy.addEventListener('click', async () => {
    let words = copy.dataset.copied ?? '';
    try {
      await navigator.clipboard.writeText(reference.textContent ?? '');
    } catch {
      words = copy.dataset.failed ?? '';
    }
    if (stay instanceof HTMLAnchorElement) {
      location.replace(`${stay.href}#copied=${encodeURIComponent(words)}`);
    } else {
      copied.textContent = words;
    }
  });
  const [, words] = /^#copied=(.*)$/.exec(location.hash) ?? [];
  if (words !== undefined) {
    history.replaceState(null, '', location.pathname + location.search);
    // Only a text of this page is shown.
    const known = [copy.dataset.copied, copy.dataset.failed];
    copied.textContent = known.find((one) => encodeURIComponent(one ?? '') === words) ?? '';
  }
  copying.hidden = false;
})();
