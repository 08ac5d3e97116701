// A page with the classic scripts of the sign-in pages, in Node.js: only the parts of a browser that they use, and a
// clock that the test moves.

import { readFileSync } from 'node:fs';
import vm from 'node:vm';

const assets = new URL('../../host/server/assets/', import.meta.url);

/** A button, for scripts that look for its type. */
export class HTMLButtonElement {
  disabled = false;
}

/** Returns an element with these attributes and members. */
export const element = (attributes = {}, members = {}) => ({
  hidden: false,
  className: '',
  textContent: '',
  getAttribute: (name) => attributes[name] ?? null,
  ...members,
});

/** Returns the storage of a site, which several pages share. */
export function storage() {
  const items = new Map();
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => items.set(key, String(value)),
  };
}

export class ClassicPage {
  /** The number of reloads that the page began. */
  reloads = 0;
  /** The requests of the page, the last one last. */
  requests = [];
  /** The event streams of the page, the last one last. */
  streams = [];
  document = new EventTarget();
  window = new EventTarget();
  history = {
    state: null,
    replaceState: (state) => {
      this.history.state = state;
    },
  };
  #now = 1_000_000;
  #timers = [];
  #count = 0;

  /**
   * @param {Record<string, object>} elements the elements, by id
   * @param {object} members further global variables
   */
  constructor(elements, members = {}) {
    const { document, window, history, requests, streams } = this;
    const buttons = () => Object.values(elements).filter((one) => one instanceof HTMLButtonElement);
    Object.assign(document, {
      hidden: false,
      documentElement: { lang: 'en' },
      getElementById: (id) => elements[id] ?? null,
      querySelectorAll: () => buttons().filter((button) => !button.disabled),
    });
    class XMLHttpRequest {
      open(_method, address) {
        this.address = address;
        requests.push(this);
      }
      send() {}
      abort() {
        this.aborted = true;
      }
    }
    class EventSource extends EventTarget {
      readyState = 1;
      constructor(address) {
        super();
        this.address = address;
        streams.push(this);
      }
      close() {
        this.readyState = 2;
      }
    }
    const location = {
      reload: () => {
        this.reloads += 1;
      },
    };
    const globals = {
      document,
      window,
      history,
      location,
      HTMLButtonElement,
      XMLHttpRequest,
      EventSource,
      Date: { now: () => this.#now },
      setTimeout: (run, delay, ...values) => this.#start(() => run(...values), delay),
      setInterval: (run, delay) => this.#start(run, delay, delay),
      clearTimeout: (id) => this.#stop(id),
      clearInterval: (id) => this.#stop(id),
    };
    this.context = vm.createContext({ ...globals, ...members });
  }

  /** Runs scripts in their order, as one file of the server has them. */
  run(...scripts) {
    for (const script of scripts) vm.runInContext(readFileSync(new URL(script, assets), 'utf8'), this.context);
    return this;
  }

  /** Moves the clock. The timers run at their times. */
  pass(milliseconds) {
    const end = this.#now + milliseconds;
    for (;;) {
      const due = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at || a.id - b.id)[0];
      if (!due) break;
      this.#now = due.at;
      if (due.every) due.at += due.every;
      else this.#stop(due.id);
      due.run();
    }
    this.#now = end;
  }

  /** Submits a form. Returns whether the browser sends it. */
  submit() {
    return this.document.dispatchEvent(new Event('submit', { cancelable: true }));
  }

  /** Shows the page, from the back/forward cache if `persisted`. */
  show(persisted) {
    this.window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted }));
  }

  /** Answers the last question for the state of the sign-in. */
  answer(state) {
    const request = this.requests.at(-1);
    if (request.aborted) return;
    Object.assign(request, { status: 200, responseText: JSON.stringify({ state }) });
    request.onload();
  }

  #start(run, delay, every) {
    this.#count += 1;
    this.#timers.push({ id: this.#count, at: this.#now + (delay ?? 0), every, run });
    return this.#count;
  }

  #stop(id) {
    this.#timers = this.#timers.filter((timer) => timer.id !== id);
  }
}
