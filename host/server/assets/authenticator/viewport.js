// The keyboard of a phone covers the lower part of the page, and may leave the page's own size as it is. While the
// number of a request is typed, the buttons below its field stay above the keyboard.

/** What stays free around the field and its buttons, in CSS pixels. */
const MARGIN = 12;

/** The lower edge of what the user sees, from the upper edge of the window. */
function edge() {
  const view = window.visualViewport;
  // With the page enlarged less of it is seen, and nothing is covered.
  return view === null || view.scale > 1.01 ? window.innerHeight : view.offsetTop + view.height;
}

/** Scrolls the buttons below the focused number field into what the user sees, as far as the field stays there. */
function reveal() {
  // There must be enough page to scroll.
  const covered = Math.max(0, Math.round(window.innerHeight - edge()));
  document.documentElement.style.setProperty('--covered', `${covered}px`);
  const field = document.activeElement;
  const buttons = field instanceof HTMLInputElement ? field.closest('.request form')?.querySelector('.actions') : null;
  if (!field || !buttons) return;
  const hidden = buttons.getBoundingClientRect().bottom + MARGIN - edge();
  const room = field.getBoundingClientRect().top - MARGIN;
  if (hidden > 0 && room > 0) window.scrollBy({ top: Math.min(hidden, room), behavior: 'instant' });
}

/** Keeps the buttons of a request in sight, from now on. */
export function keepInSight() {
  window.visualViewport?.addEventListener('resize', reveal);
  document.addEventListener('focusin', reveal);
}
