// The keyboard of a phone covers the lower part of the page, and may leave the page's own size unchanged. While the
// user types the number of a request, the buttons below its field stay above the keyboard.

/** The free space around the field and its buttons, in CSS pixels. */
const MARGIN = 12;
/** A visible area below this height is low: the page then shows a request without its own bar. */
const LOW = 480;

/** The lower edge of the visible area, from the upper edge of the window. */
function edge() {
  const view = window.visualViewport;
  // In an enlarged page a smaller part is visible, and nothing is covered.
  return view === null || view.scale > 1.01 ? window.innerHeight : view.offsetTop + view.height;
}

/** Scrolls the buttons below the focused number field into the visible area, as far as the field stays visible. */
function reveal() {
  document.documentElement.toggleAttribute('data-low', edge() < LOW);
  // The page must be long enough to scroll.
  const covered = Math.max(0, Math.round(window.innerHeight - edge()));
  document.documentElement.style.setProperty('--covered', `${covered}px`);
  const field = document.activeElement;
  const buttons = field instanceof HTMLInputElement ? field.closest('.request form')?.querySelector('.actions') : null;
  if (!field || !buttons) return;
  const hidden = buttons.getBoundingClientRect().bottom + MARGIN - edge();
  const room = field.getBoundingClientRect().top - MARGIN;
  if (hidden > 0 && room > 0) window.scrollBy({ top: Math.min(hidden, room), behavior: 'instant' });
}

/** Begins to keep the buttons of a request visible. */
export function keepInSight() {
  window.visualViewport?.addEventListener('resize', reveal);
  document.addEventListener('focusin', reveal);
  reveal();
}
