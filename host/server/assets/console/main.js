// The console: which page an address is, and the frame around it. It is a client of the admin API and of nothing else.

import { showActionApproval } from './action_approval.js';
import { askWith, whoAmI } from './api.js';
import { giveUpUnsaved, isUnsaved } from './form.js';
import { account } from './pages/account.js';
import { applicationPages } from './pages/application.js';
import { applications } from './pages/applications.js';
import { audit } from './pages/audit.js';
import { claims } from './pages/claims.js';
import { keys } from './pages/keys.js';
import { newApplication } from './pages/new_application.js';
import { overview } from './pages/overview.js';
import { plugins } from './pages/plugins.js';
import { settings } from './pages/settings.js';
import { userPages } from './pages/user.js';
import { importUsers, newUser, users } from './pages/users.js';
import { ask, el, explain, link, screen } from './view.js';

/**
 * @typedef {import('./types.d.ts').Context} Context
 * @typedef {import('./types.d.ts').Page} Page
 * @typedef {import('./types.d.ts').Permission} Permission
 */

// Where to go on after signing in again.
const RETURN = 'assent-console-return';

/**
 * Address, page, and the permission that it needs.
 * @type {Array<[string, (context: Context, values: any) => Promise<Page> | Page, Permission]>}
 */
const PAGES = [
  ['/admin', overview, 'me'],
  ['/admin/applications', applications, 'applications:read'],
  ['/admin/applications/new', newApplication, 'applications:write'],
  ['/admin/applications/:id', applicationPages.guide, 'applications:read'],
  ['/admin/applications/:id/settings', applicationPages.settings, 'applications:read'],
  ['/admin/applications/:id/credentials', applicationPages.credentials, 'applications:read'],
  ['/admin/applications/:id/accounts', applicationPages.accounts, 'accounts:read'],
  ['/admin/applications/:id/claims', applicationPages.claims, 'claims:read'],
  ['/admin/applications/:id/try', applicationPages.testSignIn, 'applications:write'],
  ['/admin/applications/:id/delete', applicationPages.remove, 'applications:write'],
  ['/admin/users', users, 'users:read'],
  ['/admin/users/new', newUser, 'users:write'],
  ['/admin/users/import', importUsers, 'users:write'],
  ['/admin/users/:id', userPages.profile, 'users:read'],
  ['/admin/users/:id/accounts', userPages.accounts, 'accounts:read'],
  ['/admin/users/:id/devices', userPages.devices, 'users:read'],
  ['/admin/users/:id/sessions', userPages.sessions, 'users:read'],
  ['/admin/users/:id/activity', userPages.activity, 'users:read'],
  ['/admin/accounts/:id', account, 'accounts:read'],
  ['/admin/claims', claims, 'claims:read'],
  ['/admin/plugins', plugins, 'plugins:read'],
  ['/admin/keys', keys, 'keys:read'],
  ['/admin/audit', audit, 'audit:read'],
  ['/admin/settings', settings, 'settings:read'],
];

/**
 * What the navigation leads to.
 * @type {Array<[string, string, Permission]>}
 */
const PARTS = [
  ['/admin', 'Overview', 'me'],
  ['/admin/applications', 'Applications', 'applications:read'],
  ['/admin/users', 'Users', 'users:read'],
  ['/admin/claims', 'Claims preview', 'claims:read'],
  ['/admin/plugins', 'Plugins', 'plugins:read'],
  ['/admin/keys', 'Keys', 'keys:read'],
  ['/admin/audit', 'Audit log', 'audit:read'],
  ['/admin/settings', 'Settings', 'settings:read'],
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
// Which of the pages that were opened one after the other this is.
let at = history.state?.at ?? 0;

/**
 * What each page is given beside the values of its address.
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
    // What the page before wanted done here. No other site can say it, as it could in the address.
    wish: history.state?.wish,
    go: (to, wish) => go(to, wish),
    reload: () => show(new URL(location.href), { keep: true }),
  };
}

function find(pathname) {
  const path = pathname.length > 1 ? pathname.replace(/\/$/, '') : pathname;
  for (const [pattern, page, permission] of PAGES) {
    const values = match(pattern, path);
    if (values) return { values, page, permission };
  }
  return undefined;
}

function match(pattern, path) {
  const [expected, given] = [pattern.split('/'), path.split('/')];
  if (expected.length !== given.length) return undefined;
  const values = {};
  for (const [at, part] of expected.entries()) {
    if (part.startsWith(':')) {
      try {
        values[part.slice(1)] = decodeURIComponent(given[at]);
      } catch {
        return undefined;
      }
    } else if (part !== given[at]) return undefined;
  }
  return values;
}

/** Shows the page of an address. `keep` leaves the focus and the place on the page where they are. */
async function show(address, { keep = false } = {}) {
  const mine = ++round;
  const found = find(address.pathname);
  place.setAttribute('aria-busy', 'true');
  let /** @type {Page} */ made;
  try {
    if (!found) made = screen({ title: 'There is no such page' }, el('p', {}, link('/admin', 'Back to the overview')));
    else if (!me.permissions.includes(found.permission)) made = refused();
    else made = await found.page(surroundings(address), found.values);
  } catch (cause) {
    const problem = /** @type {any} */ (cause);
    if (problem?.status === 401) return signInAgain(address);
    if (problem?.status === undefined) console.error(problem);
    made = screen(
      { title: problem?.status === 404 ? 'Not found' : 'That did not work' },
      el('div', { class: 'notice bad', role: 'alert' }, ...explain(problem)),
      el('p', {}, link('/admin', 'Back to the overview')),
    );
  }
  if (mine !== round) return undefined;
  const [left, top] = [scrollX, scrollY];
  place.replaceChildren(...made.body);
  place.removeAttribute('aria-busy');
  document.title = `${made.title} · ${operator}`;
  mark(address.pathname);
  if (keep) scrollTo(left, top);
  else {
    scrollTo(0, 0);
    place.querySelector('h1')?.focus({ preventScroll: true });
  }
  return undefined;
}

function refused() {
  return screen(
    { title: 'Not for your role' },
    el(
      'p',
      {},
      `Your role in the console is ${me.role ?? 'none'}, which does not open this page. An owner can give you another.`,
    ),
  );
}

/** The session is over: the sign-in leads back to where the person was. */
function signInAgain(address) {
  sessionStorage.setItem(RETURN, address.pathname + address.search);
  location.assign('/admin');
}

function mark(pathname) {
  for (const one of nav.querySelectorAll('a')) {
    const to = new URL(one.href).pathname;
    const here = to === '/admin' ? pathname === '/admin' : pathname === to || pathname.startsWith(`${to}/`);
    if (here) one.setAttribute('aria-current', pathname === to ? 'page' : 'true');
    else one.removeAttribute('aria-current');
  }
  open(false);
}

function open(isOpen) {
  menu.setAttribute('aria-expanded', String(isOpen));
  nav.classList.toggle('open', isOpen);
}

function go(to, wish) {
  const address = new URL(to, location.href);
  at += 1;
  history.pushState({ at, wish }, '', address);
  return show(address);
}

/** Whether the page may be left: what was typed and not sent is asked about first. */
async function mayLeave() {
  if (!isUnsaved()) return true;
  const yes = await ask('Leave without saving?', 'What you typed on this page was not saved.', 'Leave');
  if (yes) giveUpUnsaved();
  return yes;
}

// What the next change of the history is: the browser's, the way back to a page that is not left yet, or the one that
// was asked about.
let moving = 'by-browser';

/** Back and forward. The browser has left the page already, so it is gone back to while the person is asked. */
async function moved() {
  const to = history.state?.at ?? 0;
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

/** A press on a link of the console changes the page without loading it anew. */
function follow(event) {
  const pressed = event.target.closest?.('a[href]');
  if (
    !pressed ||
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
  askWith(showActionApproval);
  try {
    me = await whoAmI();
  } catch (cause) {
    const problem = /** @type {any} */ (cause);
    if (problem.status === 401) return signInAgain(new URL(location.href));
    place.replaceChildren(
      el('h1', {}, 'Administration'),
      el('div', { class: 'notice bad', role: 'alert' }, ...explain(problem)),
    );
    return undefined;
  }
  nav.replaceChildren(
    el(
      'ul',
      {},
      ...PARTS.filter(([, , permission]) => me.permissions.includes(permission)).map(([to, label]) =>
        el('li', {}, link(to, label)),
      ),
    ),
  );
  menu.hidden = false;
  menu.addEventListener('click', () => open(menu.getAttribute('aria-expanded') !== 'true'));
  document.addEventListener('click', follow);
  addEventListener('popstate', moved);
  addEventListener('beforeunload', (event) => isUnsaved() && event.preventDefault());
  // Somebody else changed what is on the page.
  addEventListener('reread', () => show(new URL(location.href), { keep: true }));
  // A press on a button of a page that was open while the session ended.
  addEventListener('unhandledrejection', (event) => {
    if (event.reason?.status === 401) signInAgain(new URL(location.href));
  });
  const back = sessionStorage.getItem(RETURN);
  sessionStorage.removeItem(RETURN);
  if (back?.startsWith('/admin/') && location.pathname === '/admin') history.replaceState(null, '', back);
  return show(new URL(location.href), { keep: true });
}

start();
