// The console: the page of an address, and the frame around it. The console only uses the admin API.

import { showActionApproval } from './action_approval.js';
import { askWith, Problem, reloadWith, renewWith, whoAmI } from './api.js';
import { loadApiTexts } from './api_texts.js';
import { giveUpUnsaved, isUnsaved } from './form.js';
import { icon } from './icons.js';
import { loadLanguage, t, translated } from './language.js';
import { languageSwitch, translateFrame } from './language_switch.js';
import { account } from './pages/account.js';
import { applicationPages } from './pages/application.js';
import { applications } from './pages/applications.js';
import { audit } from './pages/audit.js';
import { claims } from './pages/claims.js';
import { detailsTypes, editDetailsType, newDetailsType } from './pages/details_types.js';
import { groupPages, groups, newGroup } from './pages/groups.js';
import { invitations } from './pages/invitations.js';
import { keys } from './pages/keys.js';
import { newApplication } from './pages/new_application.js';
import { overview } from './pages/overview.js';
import { plugins } from './pages/plugins.js';
import { newRegistrationToken, registrationTokens } from './pages/registration_tokens.js';
import { settings } from './pages/settings.js';
import { userPages } from './pages/user.js';
import { importUsers, newUser, roleName, users } from './pages/users.js';
import { searchButton } from './search.js';
import { announceSignIn, offerReload, renewSession } from './session.js';
import { themeSwitch } from './theme.js';
import { ask, button, el, explain, link, screen, showsSomethingOnce, way } from './view.js';

/** @import { IconName } from './icons.js' */
/** @import { Context, Handover, HistoryEntry, Page, PageFunction, Permission } from './types.d.ts' */

// The storage key of the address to which the sign-in returns.
const RETURN = 'assent-console-return';

/**
 * Address, page, and the required permission.
 * @type {Array<[string, PageFunction, Permission]>}
 */
const PAGES = [
  ['/admin', overview, 'me'],
  ['/admin/applications', applications, 'applications:read'],
  ['/admin/applications/new', newApplication, 'applications:write'],
  ['/admin/applications/registration-tokens', registrationTokens, 'applications:read'],
  ['/admin/applications/registration-tokens/new', newRegistrationToken, 'applications:write'],
  ['/admin/applications/authorization-details-types', detailsTypes, 'applications:read'],
  ['/admin/applications/authorization-details-types/new', newDetailsType, 'applications:write'],
  ['/admin/applications/authorization-details-types/edit', editDetailsType, 'applications:write'],
  ['/admin/applications/:id', applicationPages.guide, 'applications:read'],
  ['/admin/applications/:id/settings', applicationPages.settings, 'applications:read'],
  ['/admin/applications/:id/credentials', applicationPages.credentials, 'applications:read'],
  ['/admin/applications/:id/security', applicationPages.security, 'applications:read'],
  ['/admin/applications/:id/accounts', applicationPages.accounts, 'accounts:read'],
  ['/admin/applications/:id/asked', applicationPages.asked, 'audit:read'],
  ['/admin/applications/:id/claims', applicationPages.claims, 'claims:read'],
  ['/admin/applications/:id/try', applicationPages.testSignIn, 'applications:write'],
  ['/admin/applications/:id/delete', applicationPages.remove, 'applications:write'],
  ['/admin/users', users, 'users:read'],
  ['/admin/users/new', newUser, 'users:write'],
  ['/admin/users/import', importUsers, 'users:write'],
  ['/admin/invitations', invitations, 'users:read'],
  ['/admin/users/:id', userPages.profile, 'users:read'],
  ['/admin/users/:id/accounts', userPages.accounts, 'accounts:read'],
  ['/admin/users/:id/devices', userPages.devices, 'users:read'],
  ['/admin/users/:id/sessions', userPages.sessions, 'users:read'],
  ['/admin/users/:id/activity', userPages.activity, 'users:read'],
  ['/admin/users/:id/groups', userPages.groups, 'accounts:read'],
  ['/admin/groups', groups, 'accounts:read'],
  ['/admin/groups/new', newGroup, 'accounts:write'],
  ['/admin/groups/:id', groupPages.members, 'accounts:read'],
  ['/admin/groups/:id/applications', groupPages.applications, 'accounts:read'],
  ['/admin/groups/:id/settings', groupPages.settings, 'accounts:write'],
  ['/admin/accounts/:id', account, 'accounts:read'],
  ['/admin/claims', claims, 'claims:read'],
  ['/admin/plugins', plugins, 'plugins:read'],
  ['/admin/keys', keys, 'keys:read'],
  ['/admin/audit', audit, 'audit:read'],
  ['/admin/settings', settings, 'settings:read'],
];

/**
 * The links of the navigation: address, label, icon, and the required permission.
 * @type {Array<[string, string, IconName, Permission]>}
 */
const PARTS = [
  ['/admin', 'Overview', 'overview', 'me'],
  ['/admin/applications', 'Applications', 'applications', 'applications:read'],
  ['/admin/users', 'Users', 'users', 'users:read'],
  ['/admin/groups', 'Groups', 'groups', 'accounts:read'],
  ['/admin/claims', 'Claims preview', 'claims', 'claims:read'],
  ['/admin/plugins', 'Plugins', 'plugins', 'plugins:read'],
  ['/admin/keys', 'Keys', 'keys', 'keys:read'],
  ['/admin/audit', 'Audit log', 'audit', 'audit:read'],
  ['/admin/settings', 'Settings', 'settings', 'settings:read'],
];

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

const place = part('console');
const { operator = '', issuer = '', address: base = '' } = place.dataset;
const nav = part('parts');
const menu = part('menu');
/** @type {Context['me']} */
let me;
let round = 0;
/** The history entry of the page. */
const entry = () => /** @type {HistoryEntry} */ (history.state);

// The position of the page in the history.
let at = entry()?.at ?? 0;

/**
 * The context that each page receives beside the values of its address.
 * @param {URL} address
 * @returns {Context}
 */
function surroundings(address) {
  return {
    me,
    issuer,
    base,
    may: (permission) => me.permissions.includes(permission),
    query: address.searchParams,
    // The values from the previous page. Another site could set an address, but not these values.
    handover: entry()?.handover ?? {},
    go,
    reload: () => show(new URL(location.href), { keep: true }),
  };
}

/**
 * The page of an address.
 * @param {string} pathname
 */
function find(pathname) {
  const path = pathname.length > 1 ? pathname.replace(/\/$/, '') : pathname;
  for (const [pattern, page, permission] of PAGES) {
    const values = match(pattern, path);
    if (values) return { values, page, permission };
  }
  return undefined;
}

/**
 * The values of the variable segments of a path, or undefined if it does not match the pattern.
 * @param {string} pattern
 * @param {string} path
 */
function match(pattern, path) {
  const [expected, given] = [pattern.split('/'), path.split('/')];
  if (expected.length !== given.length) return undefined;
  /** @type {Record<string, string>} */
  const values = {};
  for (const [index, segment] of expected.entries()) {
    if (segment.startsWith(':')) {
      try {
        values[segment.slice(1)] = decodeURIComponent(given[index]);
      } catch {
        return undefined;
      }
    } else if (segment !== given[index]) return undefined;
  }
  return values;
}

/**
 * Shows the page of an address. With `keep` the focus and the scroll position stay.
 * @param {URL} address
 * @param {{ keep?: boolean }} [options]
 */
async function show(address, { keep = false } = {}) {
  const mine = ++round;
  const found = find(address.pathname);
  place.setAttribute('aria-busy', 'true');
  let /** @type {Page} */ made;
  try {
    if (!found) made = screen({ title: 'Page not found' }, el('p', {}, link('/admin', 'Back to the overview')));
    else if (!me.permissions.includes(found.permission)) made = denied();
    else made = await found.page(surroundings(address), found.values);
  } catch (problem) {
    const status = statusOf(problem);
    if (status === 401) return signInAgain(address);
    if (status === undefined) console.error(problem);
    const again = status !== 404 && button('Try again', () => show(address), 'primary');
    made = screen(
      { title: status === 404 ? 'Not found' : 'The request failed' },
      el('div', { class: 'notice bad', role: 'alert' }, ...explain(problem)),
      el('div', { class: 'ways' }, again, way('/admin', 'Back to the overview')),
    );
  }
  if (mine !== round) return undefined;
  const [left, top] = [scrollX, scrollY];
  const refocus = keep && focusedControl();
  place.replaceChildren(...made.body);
  place.removeAttribute('aria-busy');
  document.title = `${made.title} · ${operator}`;
  mark(address.pathname);
  showTab();
  if (keep) {
    if (refocus) refocus();
    scrollTo(left, top);
  } else {
    scrollTo(0, 0);
    place.querySelector('h1')?.focus({ preventScroll: true });
  }
  return undefined;
}

/**
 * The control of the page that had the focus last, even if it lost the focus because it was disabled while it worked.
 * @type {Element | null}
 */
let lastFocused = null;

/**
 * The name of a control, by which it is found again after the page is shown again.
 * @param {Element} control
 */
const nameOf = (control) =>
  control.getAttribute('aria-label') ??
  (control instanceof HTMLInputElement ? control.labels?.[0]?.textContent : undefined) ??
  control.textContent;

/**
 * Returns a function that focuses the same control after the page is shown again, or undefined if no control of the
 * page has the focus. If the control is not there any more, such as in a removed row, the heading gets the focus.
 */
function focusedControl() {
  const { activeElement } = document;
  const control = activeElement === document.body ? lastFocused : activeElement;
  if (!control || !place.contains(control)) return undefined;
  const alike = (/** @type {Element} */ other) => nameOf(other) === nameOf(control);
  const index = [...place.querySelectorAll(control.tagName)].filter(alike).indexOf(control);
  return () => {
    if (document.activeElement !== document.body) return;
    const found = [...place.querySelectorAll(control.tagName)].filter(alike);
    const same = found[index] ?? place.querySelector('h1');
    if (same instanceof HTMLElement) same.focus({ preventScroll: true });
  };
}

/**
 * The status of a response that reports a problem.
 * @param {unknown} problem
 */
function statusOf(problem) {
  return problem instanceof Problem ? problem.status : undefined;
}

/** The page for administrators without a role for the opened page. */
function denied() {
  return screen(
    { title: 'Your role does not allow this' },
    el(
      'p',
      {},
      t`Your role in the console is ${me.role ? roleName(me.role) : translated('none')}. It does not allow this page. \
An owner can grant another role.`,
    ),
    el('div', { class: 'ways' }, way('/admin', 'To the overview')),
  );
}

/**
 * The session expired: the administrator signs in again, and returns to this address.
 * @param {URL} address
 */
function signInAgain(address) {
  try {
    sessionStorage.setItem(RETURN, address.pathname + address.search);
  } catch {
    // The browser stores nothing, so the sign-in leads to the overview.
  }
  location.assign('/admin');
}

/** Returns the address to which an administrator wanted to return after a sign-in. */
function takeReturn() {
  try {
    const back = sessionStorage.getItem(RETURN);
    sessionStorage.removeItem(RETURN);
    return back;
  } catch {
    return null;
  }
}

/** Scrolls to the current tab: on a narrow screen the tabs are one row, which may be wider than the screen. */
function showTab() {
  for (const tab of place.querySelectorAll('.tabs [aria-current]')) {
    const row = tab.closest('ul');
    if (!row) continue;
    const [shown, all] = [tab.getBoundingClientRect(), row.getBoundingClientRect()];
    // `scrollIntoView` would move the page too.
    row.scrollLeft += (shown.left + shown.right - all.left - all.right) / 2;
  }
}

/**
 * Marks the link of the navigation that leads to the page.
 * @param {string} pathname
 */
function mark(pathname) {
  for (const one of nav.querySelectorAll('a')) {
    const to = new URL(one.href).pathname;
    const here = to === '/admin' ? pathname === '/admin' : pathname === to || pathname.startsWith(`${to}/`);
    if (here) one.setAttribute('aria-current', pathname === to ? 'page' : 'true');
    else one.removeAttribute('aria-current');
  }
  open(false);
}

/**
 * Opens or closes the navigation, which is a menu on narrow screens.
 * @param {boolean} isOpen
 */
function open(isOpen) {
  menu.setAttribute('aria-expanded', String(isOpen));
  nav.classList.toggle('open', isOpen);
}

/**
 * Goes to a page of the console.
 * @param {string | URL} to
 * @param {Handover} [handover]
 */
function go(to, handover) {
  const address = new URL(to, location.href);
  at += 1;
  history.pushState({ at, handover }, '', address);
  return show(address);
}

/** Whether the page may be left. If it has unsaved changes, the administrator is asked. */
async function mayLeave() {
  if (!isUnsaved()) return true;
  const yes = showsSomethingOnce()
    ? await ask(
        'Leave this page?',
        'It shows something that is not shown again. Copy, print or send it first.',
        'Leave',
      )
    : await ask('Leave without saving?', 'What you typed on this page was not saved.', 'Leave');
  if (yes) giveUpUnsaved();
  return yes;
}

/**
 * The cause of the next change of the history: the browser; the way back to the page, to ask about unsaved changes; or
 * the administrator's answer.
 * @type {'by-browser' | 'back-to-ask' | 'asked'}
 */
let moving = 'by-browser';

/**
 * Handles Back and Forward. The browser has left the page already, so it returns there while the administrator is
 * asked.
 */
async function moved() {
  const to = entry()?.at ?? 0;
  const by = to - at;
  if (moving === 'back-to-ask') {
    moving = 'by-browser';
    return;
  }
  if (moving === 'by-browser' && by !== 0 && isUnsaved()) {
    moving = 'back-to-ask';
    history.go(-by);
    if (await mayLeave()) {
      moving = 'asked';
      history.go(by);
    }
    return;
  }
  moving = 'by-browser';
  at = to;
  await show(new URL(location.href));
}

/**
 * Follows a link of the console without reloading the document.
 * @param {MouseEvent} event
 */
function follow(event) {
  const pressed = event.target instanceof Element && event.target.closest('a[href]');
  if (
    !(pressed instanceof HTMLAnchorElement) ||
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  )
    return;
  const address = new URL(pressed.href);
  if (
    address.origin !== location.origin ||
    pressed.target ||
    pressed.hasAttribute('download') ||
    !find(address.pathname) ||
    address.hash
  )
    return;
  event.preventDefault();
  mayLeave().then((yes) => (yes ? go(address) : undefined));
}

async function start() {
  await loadLanguage();
  await loadApiTexts();
  translateFrame();
  askWith(showActionApproval);
  try {
    me = await whoAmI();
  } catch (problem) {
    if (statusOf(problem) === 401) return signInAgain(new URL(location.href));
    place.replaceChildren(
      el('h1', {}, 'Console'),
      el('div', { class: 'notice bad', role: 'alert' }, ...explain(problem)),
      el(
        'div',
        { class: 'ways' },
        button('Try again', () => location.reload(), 'primary'),
      ),
    );
    place.removeAttribute('aria-busy');
    return undefined;
  }
  announceSignIn(me.id);
  reloadWith(offerReload);
  renewWith(() => renewSession(me.id));
  const parts = PARTS.filter(([, , , permission]) => me.permissions.includes(permission));
  nav.replaceChildren(
    el(
      'div',
      { class: 'parts' },
      searchButton(
        (permission) => me.permissions.includes(permission),
        parts.map(([to, label]) => [to, label]),
      ),
      el('ul', {}, ...parts.map(([to, label, picture]) => el('li', {}, link(to, icon(picture), label)))),
      el('p', { class: 'to-portal' }, link('/', icon('portal'), 'My account')),
      languageSwitch(),
      themeSwitch(),
    ),
  );
  menu.hidden = false;
  menu.addEventListener('click', () => open(menu.getAttribute('aria-expanded') !== 'true'));
  document.addEventListener('click', follow);
  place.addEventListener('focusin', ({ target }) => {
    lastFocused = target instanceof Element ? target : null;
  });
  // A press elsewhere takes the focus away on purpose.
  document.addEventListener('pointerdown', ({ target }) => {
    if (target instanceof Element && !target.closest('button, a, input, select, textarea, summary, dialog'))
      lastFocused = null;
  });
  addEventListener('popstate', moved);
  addEventListener('resize', showTab);
  addEventListener('beforeunload', (event) => isUnsaved() && event.preventDefault());
  // Another administrator changed the content of the page.
  addEventListener('reread', () => show(new URL(location.href), { keep: true }));
  // The session expired while a page was open.
  addEventListener('unhandledrejection', (event) => {
    if (statusOf(event.reason) === 401 && !isUnsaved()) signInAgain(new URL(location.href));
  });
  const back = takeReturn();
  if (back?.startsWith('/admin/') && location.pathname === '/admin') history.replaceState(null, '', back);
  await show(new URL(location.href), { keep: true });
  // The browser searched for the section in the address before the page existed.
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
  return undefined;
}

start();
