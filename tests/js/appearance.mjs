// Pages in the colours of the system (forced colours), on paper, and translated by the browser.
//
// Environment: BASE_URL, ENROL_URL (of an administrator, `ada`); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import {
  approve,
  beginSignIn,
  complaints,
  confirmApproved,
  desktop,
  enrolDevice,
  launch,
  numberField,
  phone,
  shot,
} from './browser.mjs';

const { BASE_URL, ENROL_URL } = process.env;
assert.ok(BASE_URL && ENROL_URL, 'BASE_URL or ENROL_URL is missing');

const browser = await launch();
const painter = await (await desktop(browser)).newPage();

/** Returns the colours in a picture of an element, the most frequent first, as `r,g,b`. */
async function colours(locator) {
  const picture = (await locator.screenshot()).toString('base64');
  return painter.evaluate(async (encoded) => {
    const image = new Image();
    image.src = `data:image/png;base64,${encoded}`;
    await image.decode();
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    const counts = new Map();
    for (let at = 0; at < data.length; at += 4) {
      const colour = `${data[at]},${data[at + 1]},${data[at + 2]}`;
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
    return [...counts.entries()].sort(([, one], [, other]) => other - one).map(([colour]) => colour);
  }, picture);
}

/** The forced colours in both schemes of the system. */
async function inForcedColours(page, check) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ forcedColors: 'active', colorScheme });
    await check();
  }
  await page.emulateMedia({ forcedColors: null, colorScheme: null });
}

/** Asserts that the current item of a list has another background than the others. */
async function currentDiffers(page, list) {
  await inForcedColours(page, async () => {
    const [current] = await colours(page.locator(`${list} [aria-current]`).first());
    const [other] = await colours(page.locator(`${list} a:not([aria-current])`).first());
    assert.notEqual(current, other, `${list}: the current item looks like the others`);
  });
}

/** Asserts that the part of a bar that is left has another colour than the rest. */
async function barIsVisible(page, bar) {
  await inForcedColours(page, async () => {
    const half = await page.locator(bar).evaluate((progress) => {
      const copy = progress.cloneNode();
      copy.value = progress.max / 2;
      copy.id = 'half';
      // The app would remove it from its own part of the page.
      document.getElementById('main').after(copy);
      return '#half';
    });
    const [first, second] = await colours(page.locator(half));
    assert.ok(second && first !== second, 'the remaining time has a colour');
    await page.locator(half).evaluate((copy) => copy.remove());
  });
}

/** Asserts that an element with the focus has an outline. */
async function focusIsVisible(page, locator) {
  await inForcedColours(page, async () => {
    await page.keyboard.press('Tab');
    await locator.focus();
    const style = await locator.evaluate((element) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      return { outlineStyle, outlineWidth };
    });
    assert.deepEqual(style, { outlineStyle: 'solid', outlineWidth: '3px' });
  });
}

/** Asserts that a printed page is black on white, in the dark scheme too. */
async function printsBlackOnWhite(page, what) {
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  const found = await page.evaluate(() => {
    const luminance = (colour) => {
      const [r, g, b, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
      return alpha === 0 ? null : (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
    };
    const wrong = [];
    for (const element of [document.documentElement, ...document.body.querySelectorAll('*'), document.body]) {
      const style = getComputedStyle(element);
      if (!element.checkVisibility() || element.closest('svg, progress, [hidden], .mark')) continue;
      const [text, ground] = [luminance(style.color), luminance(style.backgroundColor)];
      if ((ground !== null && ground < 0.9) || (element.innerText && text > 0.5)) {
        if (!element.matches('.button.primary')) wrong.push(`${element.tagName}.${element.className}: ${style.color}`);
      }
    }
    return wrong;
  });
  assert.deepEqual(found, [], `${what} on paper`);
  await page.emulateMedia({ media: null, colorScheme: null });
}

/** Translates the page as a browser does: it replaces each text, and skips elements with `translate="no"`. */
function translate(page) {
  return page.evaluate(() => {
    const change = (root) => {
      const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      const found = [];
      while (texts.nextNode()) found.push(texts.currentNode);
      for (const text of found) {
        const parent = text.parentElement;
        const isKept = parent.closest('[translate="no"], script, style, font');
        if (isKept || text.data.trim() === '') continue;
        const [outer, inner] = [document.createElement('font'), document.createElement('font')];
        inner.textContent = `[${text.data}]`;
        outer.append(inner);
        text.replaceWith(outer);
      }
    };
    change(document.body);
    window.translations = 0;
    new MutationObserver((records) => {
      for (const { addedNodes } of records) {
        for (const node of addedNodes) {
          if (node.nodeName === 'FONT' || !(node instanceof Element || node instanceof Text)) continue;
          window.translations += 1;
          const root = node instanceof Text ? node.parentElement : node;
          if (root) change(root);
        }
      }
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
}

/** Names, numbers and facts stay as they are, and both pages go on. */
async function translated(mobile) {
  const complained = complaints(mobile);
  const { page, number } = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await numberField(mobile).waitFor();
  await Promise.all([translate(mobile), translate(page)]);
  await mobile.getByText('[Deny]').waitFor();
  assert.equal(await page.locator('#number').textContent(), number);
  const facts = await page.locator('.facts dd').allTextContents();
  assert.ok(facts.includes('ada') && facts.every((fact) => !fact.includes('[')), facts.join());
  assert.match(await mobile.locator('.request-account bdi').textContent(), /^ada$/);
  for (const fact of await mobile.locator('.request-facts bdi').allTextContents()) assert.ok(!fact.includes('['), fact);
  // The remaining time changes; everything else stays translated and is not written again.
  const before = await mobile.locator('progress').evaluate((progress) => progress.value);
  await mobile.waitForFunction((value) => document.querySelector('progress').value < value - 3, before);
  const count = await mobile.evaluate(() => window.translations);
  assert.ok(count < 20, `${count} texts were translated again`);
  await numberField(mobile).fill(number);
  await mobile.getByRole('button', { name: '[Approve]', exact: true }).click();
  await mobile.locator('.card.outcome').waitFor();
  await page.waitForURL(`${BASE_URL}/admin`);
  assert.deepEqual(complained, []);
  await page.context().close();
  await mobile.reload();
}

const mobile = await (await phone(browser)).newPage();
try {
  await enrolDevice(mobile, ENROL_URL);
  const { page, number } = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await numberField(mobile).waitFor();
  await barIsVisible(page, '#bar');
  await barIsVisible(mobile, '.request progress');
  await focusIsVisible(page, page.getByRole('button', { name: 'Cancel this sign-in' }));
  await printsBlackOnWhite(page, 'the waiting page');
  await printsBlackOnWhite(mobile, 'the authenticator');
  await approve(mobile, number);
  await confirmApproved(mobile);
  await page.waitForURL(`${BASE_URL}/admin`);

  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await currentDiffers(page, '#parts');
  await page.goto(`${BASE_URL}/admin/settings`);
  await page.locator('#parts [aria-current]').waitFor();
  await printsBlackOnWhite(page, 'the console');
  await page.getByLabel('Theme').selectOption('dark');
  await printsBlackOnWhite(page, 'the console in its dark theme');
  await page.getByLabel('Theme').selectOption('system');
  await page.goto(`${BASE_URL}/activity`);
  await currentDiffers(page, '.tabs');
  await currentDiffers(page, '.kinds');
  await printsBlackOnWhite(page, 'the portal');
  await page.context().close();
  await translated(mobile);
} catch (failure) {
  await shot(mobile, 'failed-phone');
  throw failure;
} finally {
  await browser.close();
}
