// New recovery codes in the portal: copied, saved as a file, or printed. Without this script the user writes them down.
(() => {
  const keep = document.getElementById('keep');
  const copy = document.getElementById('copy');
  const save = document.getElementById('save');
  const copied = document.getElementById('copied');
  const print = document.getElementById('print');
  if (!keep || !copy || !copied || !print || !(save instanceof HTMLAnchorElement)) return;

  const codes = [...document.querySelectorAll('#codes code')].map((code) => code.textContent ?? '');
  const where = document.getElementById('where')?.textContent ?? '';
  const words = [keep.dataset.title ?? '', '', ...codes, '', where, ''].join('\n');

  copy.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(words);
      copied.textContent = copy.dataset.copied ?? '';
    } catch {
      copied.textContent = copy.dataset.failed ?? '';
    }
  });
  save.href = URL.createObjectURL(new Blob([words], { type: 'text/plain;charset=utf-8' }));
  print.addEventListener('click', () => window.print());
  keep.hidden = false;
})();
