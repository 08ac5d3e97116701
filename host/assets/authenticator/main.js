// The authenticator: what waits for an answer, and the accounts of this browser.

import { accountCard, addAccount } from './accounts.js';
import { Failure, call, inWords } from './api.js';
import { newsCard, showDevices } from './devices.js';
import { showEnrolment, tokenOf } from './enrol.js';
import { badge, lookForUpdate, offerInstall, offerUpdate } from './life.js';
import { offer } from './passkey.js';
import { Poll } from './poll.js';
import { clearNotifications, pushState, refresh, registerWorker, turnOn } from './push.js';
import { RequestList } from './requests.js';
import { loginTokenOf, showCamera, showLogin } from './scan.js';
import { all } from './store.js';
import { phrase, region, text } from './texts.js';
import { ask, button, el, focusOn, notice, say, sign } from './view.js';

const app = document.getElementById('app');
const connection = document.getElementById('connection');
const attention = document.getElementById('attention');
const title = document.title;

const zones = {
  update: el('div', { class: 'zone' }),
  news: el('div', { class: 'zone' }),
  requests: el('section', { class: 'zone', 'aria-label': text('app-requests') }),
  pauses: el('div', { class: 'zone' }),
  told: el('div', { class: 'zone' }),
  scan: el('div', { class: 'zone' }),
  push: el('div', { class: 'zone' }),
  install: el('div', { class: 'zone' }),
  accounts: el('section', { class: 'zone', 'aria-label': text('app-accounts') }),
};

/**
 * What is known of each account, by its device: { account, poll, standing, gone, lost, passkey, offering, failure, pausedUntil,
 * lifted, news }.
 */
const followed = new Map();
let registration = null;
/** Whether another screen than the home screen is shown. */
let elsewhere = false;
/** Whether the person has removed an account here: then it is no riddle where it went. */
let parted = false;

const requestList = new RequestList(zones.requests, showWaiting);

const listener = {
  accounts: () => followed.size,
  answered(account, { now, account: about, requests, news, paused_until: paused, passkey }) {
    const known = followed.get(account.deviceId);
    if (!known) return;
    known.failure = null;
    if (known.standing !== about.state || known.passkey !== passkey) {
      known.standing = about.state;
      known.passkey = passkey;
      showAccounts();
      showWaiting();
    }
    const skew = now - Date.now() / 1000;
    known.pausedUntil = paused === null ? null : paused - skew;
    known.news = news;
    app.dispatchEvent(new CustomEvent('news', { detail: { account, news } }));
    showRequests(account, requests, skew);
    showPauses();
    showNews();
    showConnection();
  },
  failed(account, failure) {
    const known = followed.get(account.deviceId);
    if (!known) return;
    if (failure.code === 'unknown_device') {
      known.gone = true;
      known.failure = null;
      known.news = [];
      showNews();
      showRequests(account, [], 0);
      showAccounts();
    } else {
      known.failure = failure;
    }
    showConnection();
  },
};

function showRequests(account, requests, skew) {
  if (requestList.update(account, requests, skew)) followed.get(account.deviceId).lifted = false;
}

/** The empty state, and the number of requests in the title. */
function showWaiting() {
  const waiting = requestList.open.length;
  document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
  badge(waiting);
  showAttention();
  const empty = zones.requests.querySelector('.ready');
  const able = [...followed.values()].some((known) => !known.gone && known.standing === 'active');
  if (requestList.size > 0 || !able) {
    empty?.remove();
  } else if (!empty) {
    zones.requests.append(el('div', { class: 'card ready' }, sign('shield', 'good'), el('h2', {}, text('app-nothing')),
      el('p', { class: 'muted' }, text('app-nothing-about'))));
  }
}

/** Says above another screen that something waits on the home screen. */
function showAttention() {
  const [card] = requestList.open;
  const told = [...followed.values()].find((known) => !known.gone && known.news.length > 0);
  let words = '';
  if (elsewhere && card) words = text('app-attention', { application: card.request.application.name });
  else if (elsewhere && told) words = text('app-news', { name: told.account.displayName });
  if ((attention.dataset.shown ?? '') === words) return;
  attention.dataset.shown = words;
  const go = async () => {
    // Codes that are shown this once are not lost to a press.
    const codes = app.querySelector('.codes') !== null;
    if (codes && !(await ask(text('app-recovery-leave'), text('app-recovery-once'), text('app-recovery-kept')))) return;
    backHome(card ? zones.requests : zones.told);
  };
  attention.replaceChildren(...(words === '' ? [] : [notice(words, 'warn', button(text('app-attention-go'), go, 'small'))]));
}

/** Says whose sign-ins are paused, since they denied one or said that it was not theirs, and lets them go on. */
function showPauses() {
  const paused = [...followed.values()].filter((known) => !known.gone && known.pausedUntil > Date.now() / 1000);
  const lifted = [...followed.values()].filter((known) => known.lifted);
  const shown = [...paused.map((known) => `${known.account.deviceId} ${Math.round(known.pausedUntil)}`), lifted.length].join();
  if (zones.pauses.dataset.shown === shown) return;
  zones.pauses.dataset.shown = shown;
  const notices = paused.map((known) => {
    const { account, pausedUntil, poll } = known;
    const time = new Date(pausedUntil * 1000).toLocaleTimeString(region, { hour: '2-digit', minute: '2-digit' });
    const error = el('p', { role: 'alert' });
    const lift = async () => {
      try {
        await call(account, 'DELETE', '/pause');
        say(text('app-pause-lifted'));
        Object.assign(known, { pausedUntil: null, lifted: true });
        poll.start();
        showPauses();
        focusOn(zones.pauses);
      } catch (failure) {
        error.textContent = inWords(failure);
      }
    };
    return notice(text('app-paused', { name: account.displayName, time }), 'warn', button(text('app-pause-lift'), lift, 'small'), error);
  });
  const seen = (known) => {
    known.lifted = false;
    showPauses();
    focusOn(zones.requests);
  };
  zones.pauses.replaceChildren(...notices,
    ...lifted.map((known) => notice(text('app-pause-lifted'), 'calm', button(text('app-done'), () => seen(known), 'small'))));
}

/** Says what is new of somebody's devices and codes, until they have seen it. */
function showNews() {
  showAttention();
  const told = [...followed.values()].filter((known) => !known.gone && known.news.length > 0);
  const shown = told.map((known) => `${known.account.deviceId} ${known.news.at(-1).id}`).join();
  if (zones.told.dataset.shown === shown) return;
  zones.told.dataset.shown = shown;
  zones.told.replaceChildren(...told.map((known) => newsCard(known.account, known.news, {
    look: () => startDevices(known.account),
    seen() {
      known.news = [];
      showNews();
      focusOn(zones.accounts);
    },
  })));
  if (told.length > 0) say(text('app-news', { name: told[0].account.displayName }));
}

function showConnection() {
  const states = [...followed.values()].filter((known) => !known.gone);
  const failed = states.filter((known) => known.failure);
  let words = '';
  if (!navigator.onLine) words = text('app-offline');
  else if (failed.some((known) => known.failure.passing)) words = text('app-out-of-reach');
  else if (failed.length > 0) words = inWords(failed[0].failure);
  const shown = connection.textContent;
  if (words === shown) return;
  connection.replaceChildren(...(words === '' ? [] : [notice(words, 'warn')]));
  say(words === '' ? text('app-connected') : words);
}

function showAccounts() {
  const list = [...followed.values()].map((known) => accountCard(known.account, known, {
    forgotten,
    devices: startDevices,
    protectedBy(standing) {
      known.passkey = standing;
      showAccounts();
      focusOn(zones.accounts);
    },
  }));
  const heading = list.length > 0 && el('h2', {}, text('app-your-accounts', { count: list.length }));
  zones.accounts.replaceChildren(...[heading, ...list, addAccount(startEnrolment, list.length === 0)].filter(Boolean));
}

function forgotten(account) {
  parted = followed.get(account.deviceId)?.lost === false;
  followed.get(account.deviceId)?.poll.stop();
  followed.delete(account.deviceId);
  requestList.forget(account);
  showNews();
  showPauses();
  showHome();
  focusOn(zones.accounts);
}

async function showPush() {
  const able = [...followed.values()].filter((known) => !known.gone && known.account.pushKey);
  const state = able.length > 0 ? await pushState(registration) : 'impossible';
  if (state === 'refused') {
    zones.push.replaceChildren(el('p', { class: 'muted small' }, text('app-push-blocked')));
  } else if (state === 'off') {
    const error = el('p', { role: 'alert' });
    const turn = async () => {
      try {
        await turnOn(registration, able.map((known) => known.account));
        say(text('app-push-on'));
        await showPush();
      } catch (failure) {
        if (Notification.permission === 'denied') return showPush();
        error.textContent = failure instanceof Failure ? inWords(failure) : text('app-push-failed');
      }
      return undefined;
    };
    zones.push.replaceChildren(notice(text('app-push-offer'), 'calm', button(text('app-push-turn-on'), turn, 'primary'), error));
  } else {
    zones.push.replaceChildren();
  }
}

function follow(account) {
  // A browser may have dropped the key and kept the rest.
  const lost = !(account.privateKey instanceof CryptoKey);
  const known = {
    account, standing: 'active', gone: lost, lost, passkey: null, offering: false, failure: null, pausedUntil: null, lifted: false, news: [],
  };
  known.poll = new Poll(account, listener);
  followed.set(account.deviceId, known);
  if (!document.hidden && !lost) known.poll.start();
  return known;
}

function showHome() {
  elsewhere = false;
  app.replaceChildren(zones.update, ...(followed.size === 0 ? [welcome()] : []), zones.news, zones.pauses, zones.requests, zones.told, zones.scan, zones.push, zones.install, zones.accounts);
  zones.scan.replaceChildren(...(navigator.mediaDevices ? [button(text('app-scan'), startScan)] : []));
  showAccounts();
  showWaiting();
  showPush();
  showConnection();
}

function welcome() {
  return el('div', { class: 'card ready' }, sign('shield', 'calm'), el('h2', {}, text('app-welcome')),
    el('p', { class: 'muted' }, ...phrase('app-welcome-about', { operator: app.dataset.operator })),
    !parted && el('p', { class: 'muted small' }, text('app-welcome-lost')),
    el('p', {}, el('a', { href: '/recover' }, text('app-welcome-recover'))));
}

function leaveLink() {
  history.replaceState(null, '', location.pathname);
}

/** Another screen is shown from now on. What it shows comes with the next statement. */
function leaveHome() {
  elsewhere = true;
  showAttention();
}

function startEnrolment(token) {
  leaveHome();
  showEnrolment(app, token, [...followed.values()].map((known) => known.account), {
    left: () => backHome(zones.accounts),
    async done(account, passkey, recovered) {
      leaveLink();
      const known = follow(account);
      known.offering = true;
      showHome();
      // Where notifications are on for another account, they are to be on for this one too.
      refresh(registration, [account]);
      const settled = (standing) => {
        Object.assign(known, { passkey: standing, offering: false });
        showAccounts();
        welcomeAccount(account, recovered);
      };
      const protection = await offer(account, passkey, settled);
      if (protection === null) return settled(passkey);
      zones.news.replaceChildren(protection.card);
      return protection.focus();
    },
  });
}

/** Says that an account is enrolled, and what to do next. Who came by a recovery code has lost a device, and used up a code. */
function welcomeAccount(account, recovered) {
  const heading = el('h2', {}, text('app-enrolled'));
  const done = (kind) => button(text('app-done'), () => (card.remove(), focusOn(zones.requests)), kind);
  const devices = (label, kind) => button(text(label), () => startDevices(account), kind);
  const about = el('p', { class: 'lead' }, ...phrase('app-enrolled-about', { name: account.displayName }));
  const card = el('div', { class: 'card outcome' }, sign('check', 'good'), heading, about,
    el('p', { class: 'muted' }, text(recovered ? 'app-enrolled-recovered' : 'app-enrolled-codes-about')),
    el('div', { class: 'actions' }, ...(recovered ? [devices('app-news-look', 'primary'), done()] : [done('primary'), devices('app-enrolled-codes')])));
  zones.news.replaceChildren(card);
  focusOn(heading);
  say(text('app-enrolled-news'));
}

/** What a link of ours asks for, be it the address of this page or a code that the camera saw. Whether it asks for anything. */
function follows(link) {
  const [enrolment, login] = [tokenOf(link), loginTokenOf(link)];
  if (enrolment !== null) startEnrolment(enrolment);
  else if (login !== null) startLogin(login);
  return enrolment !== null || login !== null;
}

function route() {
  if (!follows(location.hash) && !elsewhere) showHome();
}

function backHome(zone) {
  leaveLink();
  showHome();
  focusOn(zone);
}

/** Somebody scanned the code of a login page: the person of this phone signs in there. */
function startLogin(token) {
  leaveHome();
  const able = [...followed.values()].filter((known) => !known.gone).map((known) => known.account);
  showLogin(app, token, able, {
    left: () => backHome(zones.requests),
    asked(account) {
      backHome(zones.requests);
      followed.get(account.deviceId)?.poll.start();
    },
  });
}

function startDevices(account) {
  leaveHome();
  showDevices(app, account, () => {
    showHome();
    focusOn(zones.accounts);
    followed.get(account.deviceId)?.poll.start();
  });
}

function startScan() {
  leaveHome();
  showCamera(app, { found: follows, left: () => backHome(zones.scan) });
}

/** Asks at once, for every account: the person is looking, or something happened. */
function look() {
  if (document.hidden) return;
  for (const known of followed.values()) if (!known.gone) known.poll.start();
  clearNotifications(registration);
  lookForUpdate(registration);
}

function listen() {
  offerInstall(zones.install);
  offerUpdate(zones.update);
  window.addEventListener('hashchange', route);
  window.addEventListener('online', () => (showConnection(), look()));
  window.addEventListener('offline', showConnection);
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) for (const known of followed.values()) known.poll.stop();
    else look();
  });
  navigator.serviceWorker?.addEventListener('message', (event) => {
    if (event.data?.type === 'look') look();
  });
  setInterval(() => {
    requestList.tick();
    showPauses();
  }, 500);
}

function unsupported(why) {
  app.replaceChildren(el('div', { class: 'card' }, sign('mark', 'warn'), el('h2', {}, text('app-unsupported')), el('p', { class: 'lead' }, why)));
}

async function start() {
  if (!self.isSecureContext || !crypto.subtle) {
    unsupported(text('app-unsupported-insecure'));
    return;
  }
  let accounts;
  try {
    accounts = await all();
  } catch {
    unsupported(text('app-unsupported-private'));
    return;
  }
  listen();
  for (const account of accounts) follow(account);
  route();
  registration = await registerWorker();
  if (!elsewhere) showPush();
  clearNotifications(registration);
  await refresh(registration, accounts);
}

start();
