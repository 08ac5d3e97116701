// The types of the authenticator: what its API carries, and its state. Only the type checker reads this file.

/** How an account's approvals are protected. */
export type Passkey = 'set' | 'none' | 'impossible';

/** An account of this browser, as IndexedDB stores it. */
export interface Account {
  deviceId: string;
  issuer: string;
  operator: string;
  account: string;
  displayName: string;
  deviceName: string;
  /** Null if the server sends no push. */
  pushKey: string | null;
  /** A browser may have dropped the key and kept the rest. */
  privateKey: CryptoKey;
  /** The server's clock less ours, in seconds. */
  clockOffset: number;
}

export interface Application {
  id: string;
  name: string;
  logo?: string | null;
}

/** A pending approval request. */
export interface ApprovalRequest {
  id: string;
  application: Application;
  account: string;
  place: string;
  browser: string;
  /** What the protected action does; null for a sign-in. */
  action?: string | null;
  requested_at: number;
  expires_at: number;
  attempts_left?: number;
}

/** Another request of the same user, to which the typed number belongs. */
export interface OtherRequest extends ApprovalRequest {
  state: string;
}

export interface AccountNotification {
  id: string;
  event: string;
  name?: string | null;
  at: number;
}

/** The answer of `GET /requests`. */
export interface Pending {
  now: number;
  account: { state: string };
  cooldown_until: number | null;
  passkey: Passkey;
  requests: ApprovalRequest[];
  notifications: AccountNotification[];
}

export interface Device {
  id: string;
  name: string;
  enrolled_at: number;
  used_at: number | null;
  this: boolean;
  passkey: boolean;
}

/** The answer of `GET /devices`. */
export interface Devices {
  devices: Device[];
  recovery_codes: number;
}

/** The answer of `POST /devices/enrolment-links`. */
export interface DeviceLink {
  link: string;
  link_qr?: string | null;
  created_at: number;
  expires_at: number;
}

/** The answer of `POST /enrolments/preview`. */
export interface EnrolmentOffer {
  operator: string;
  issuer: string;
  account: string;
  display_name: string;
  expires_at: number;
  link_qr?: string | null;
}

/** The answer of `POST /qr-sign-ins/preview`. */
export interface LoginOffer {
  application: Application;
  place: string;
  browser: string;
}

/** An item of `GET /history`. */
export interface PastRequest {
  outcome: string;
  application: Application;
  account: string;
  place: string;
  browser: string;
  protected_action?: PastAction | null;
  at: number;
}

/** A protected action in the history: its kind, and the current name of what it concerned. */
export interface PastAction {
  kind: string;
  target: string | null;
  gone: boolean;
}

/** A call that failed, as `Failure` of api.js. */
export interface FailedCall {
  status: number;
  code: string;
  // biome-ignore lint/suspicious/noExplicitAny: each code has members of its own
  body: any;
  passing: boolean;
}

/** How a request ended. */
export type Ending = 'approved' | 'expired' | 'decided' | 'gone' | 'locked' | 'denied' | 'not_me';

/** An approval request on this device. */
export interface Item {
  deviceId: string;
  request: ApprovalRequest;
  /** The server's clock less ours, in seconds. */
  skew: number;
  phase: 'open' | 'sending' | 'ended';
  /** What the user has typed. */
  number: string;
  error: string;
  attemptsLeft: number | null;
  /** The request to which the typed number belongs, while the user is shown that. */
  other: { request: OtherRequest; ended: Ending | null; busy: boolean; error: string } | null;
  ended: { kind: Ending; reportable: boolean; busy: boolean; error: string } | null;
}

/** An account, and what the server says of it. */
export interface Followed {
  account: Account;
  /** The account's state. */
  standing: string;
  /** The server knows this device no more, or the key is lost. */
  gone: boolean;
  lost: boolean;
  passkey: Passkey | null;
  failure: FailedCall | null;
  /** By our clock. */
  cooldownUntil: number | null;
  /** The user ended a cooldown, and has not seen a request since. */
  lifted: boolean;
  notifications: AccountNotification[];
  history: { items: PastRequest[] | null; error: string } | null;
  /** Whether the user answers the phone's lock for this account. */
  busy: boolean;
  errors: { remove: string; cooldown: string; notifications: string; passkey: string };
}

export interface HomeScreen {
  name: 'home';
}

export interface EnrolmentScreen {
  name: 'enrolment';
  token: string;
  phase: 'checking' | 'failed' | 'ready' | 'confirming';
  failure: FailedCall | null;
  offer: EnrolmentOffer | null;
  deviceName: string;
  /** The device's name is what the error is about. */
  unnamed: boolean;
  error: string;
  copied: string;
}

export interface LoginScreen {
  name: 'login';
  token: string;
  phase: 'not-enrolled' | 'looking' | 'ready' | 'asking' | 'failed';
  failure: FailedCall | null;
  offer: LoginOffer | null;
  /** The account that was picked. */
  deviceId: string | null;
}

export interface CameraScreen {
  name: 'camera';
  video: HTMLVideoElement;
  phase: 'on' | 'no-camera';
  /** A code of another server was seen. */
  foreign: boolean;
  /** Ends the camera. */
  left: () => void;
}

export interface DevicesScreen {
  name: 'devices';
  deviceId: string;
  failure: FailedCall | null;
  known: Devices | null;
  renaming: { id: string; typed: string; error: string } | null;
  errors: Record<string, string>;
}

export interface LinkScreen {
  name: 'link';
  deviceId: string;
  failure: FailedCall | null;
  link: DeviceLink | null;
  copied: string;
  /** The device that was enrolled by this link. */
  added: string | null;
}

export interface CodesScreen {
  name: 'codes';
  deviceId: string;
  failure: FailedCall | null;
  codes: string[] | null;
  /** The codes as a file: its text, and its address. */
  file: { text: string; url: string } | null;
  copied: string;
  /** Drops the file. */
  left: () => void;
}

export interface UnsupportedScreen {
  name: 'unsupported';
  why: string;
}

export type Screen =
  | HomeScreen
  | EnrolmentScreen
  | LoginScreen
  | CameraScreen
  | DevicesScreen
  | LinkScreen
  | CodesScreen
  | UnsupportedScreen;

/** Everything that the page shows. */
export interface State {
  /** Our clock at the last render, in seconds. */
  now: number;
  operator: string;
  /** Null until the accounts were read. */
  screen: Screen | null;
  /** By the account's device. */
  accounts: Map<string, Followed>;
  /** By the request's id. */
  requests: Map<string, Item>;
  /** The request that the user picked of several. */
  chosen: string | null;
  online: boolean;
  /** Whether the phone has a lock that the browser can ask for; null until that is known. */
  lockable: boolean | null;
  push: 'impossible' | 'refused' | 'off' | 'on';
  pushError: string;
  camera: boolean;
  install: InstallPrompt | null;
  /** Whether a newer version is ready. */
  update: boolean;
  /** The user removed an account here, and so knows why it is gone. */
  parted: boolean;
  /** The account that was enrolled just now. */
  welcome: { deviceId: string; recovered: boolean; phase: 'offer' | 'enrolled' } | null;
  /** The enrolment link that the user pastes. */
  added: { typed: string; error: string };
}

/** The event `beforeinstallprompt`, which only some browsers have. */
export interface InstallPrompt extends Event {
  prompt(): Promise<unknown>;
}

export type Attribute =
  | string
  | number
  | boolean
  | null
  | undefined
  // biome-ignore lint/suspicious/noExplicitAny: a listener takes the events of its name
  | ((event: any) => unknown);

/** The description of an element. `key` names it among its siblings. */
export interface Piece {
  tag: string;
  identity: string;
  attributes: Record<string, Attribute>;
  children: Array<Piece | string | Node>;
}

export type Child = Piece | string | Node | false | null | undefined | '';

/** Everything that the user can do. Views call these; see actions.js. */
export type Actions = typeof import('./actions.js').actions;
