// The types of the authenticator: its state, and the data of its API, from the API's OpenAPI document. Only the type
// checker reads this file.

import type { components, paths } from 'authenticator-api';

type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths of the API that have a method. */
export type Route<Name extends Method> = {
  [Path in keyof paths]: paths[Path] extends Record<Name, { responses: unknown }> ? Path : never;
}[keyof paths];

type Operation<Path extends keyof paths, Name extends Method> = NonNullable<paths[Path][Name]>;

type Json<Response> = Response extends { content: { 'application/json': infer Body } } ? Body : null;

/** The result of an operation; null without a body. */
export type Answer<Path extends keyof paths, Name extends Method> =
  Operation<Path, Name> extends { responses: infer Responses } ? Json<Responses[keyof Responses & (200 | 201)]> : never;

/** The body of a request. */
export type RequestBody<Path extends keyof paths, Name extends Method> =
  Operation<Path, Name> extends { requestBody?: never }
    ? undefined
    : Operation<Path, Name> extends { requestBody?: { content: { 'application/json': infer Body } } }
      ? Body
      : undefined;

type InPath<Path extends keyof paths, Name extends Method> =
  Operation<Path, Name> extends { parameters: { path: infer Values } } ? { parameters: Values } : object;

type InBody<Path extends keyof paths, Name extends Method> =
  RequestBody<Path, Name> extends undefined ? object : { value: RequestBody<Path, Name> };

export interface CallOptions {
  signal?: AbortSignal;
  /** The maximum time to wait, in milliseconds. */
  limit?: number;
  /** The query with its question mark. */
  query?: string;
  /** Whether the call is sent again if its response was lost. */
  repeats?: boolean;
  credentials?: RequestCredentials;
}

/** The arguments of a call beside its path. */
export type CallArguments<Path extends keyof paths, Name extends Method> = CallOptions &
  InPath<Path, Name> &
  InBody<Path, Name>;

/** The same arguments, optional if none is required. */
export type CallRest<Path extends keyof paths, Name extends Method> =
  object extends CallArguments<Path, Name>
    ? [options?: CallArguments<Path, Name>]
    : [options: CallArguments<Path, Name>];

/** The operations that a passkey may have to confirm. */
export type ConfirmedRoute<Name extends Method> = {
  [Path in Route<Name>]: NonNullable<RequestBody<Path, Name>> extends { passkey?: unknown } ? Path : never;
}[Route<Name>];

export type ErrorCode = Schema<'ErrorCode'>;
export type PasskeyState = Schema<'PasskeyState'>;

/** The part of a passkey's use that a button changes: the protection of approvals, or the sign-in with it. */
export type PasskeyPart = 'protect' | 'sign-in';
export type Decision = Schema<'Decision'>;
export type ApprovalRequest = Schema<'ApprovalRequest'>;
export type OtherRequest = Schema<'OtherRequest'>;
export type AccountNotification = Schema<'AccountNotification'>;
export type Pending = Schema<'Pending'>;
export type Device = Schema<'Device'>;
export type Devices = Schema<'Devices'>;
export type DeviceEnrolmentLink = Schema<'DeviceEnrolmentLink'>;
export type EnrolmentPreview = Schema<'EnrolmentPreview'>;
export type QrSignInPreview = Schema<'QrSignInPreview'>;
export type PastRequest = Schema<'PastRequest'>;
export type PastAction = Schema<'PastAction'>;
export type PasskeyCreationOptions = Schema<'PasskeyCreationOptions'>;
export type PasskeyRequestOptions = Schema<'PasskeyRequestOptions'>;

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
  /** A browser may have deleted the key and kept the rest. */
  privateKey: CryptoKey;
  /** The server's clock minus this browser's, in seconds. */
  clockOffset: number;
}

/** An enrolment without a response yet, as IndexedDB stores it. */
export interface PendingEnrolment {
  /** The digest of the link's token. */
  link: string;
  issuer: string;
  deviceName: string;
  publicKey: { kty: string; crv: string; x: string; y: string };
  privateKey: CryptoKey;
}

/**
 * The cause of a failure without a response of the API: the app, the connection, the response itself, or the device's
 * lock.
 */
export type LocalCode = 'app' | 'offline' | 'stopped' | 'unreadable' | 'unknown' | 'passkey_unconfirmed';

/** A call that failed, as `Failure` of api.js. */
export interface FailedCall {
  status: number;
  code: ErrorCode | LocalCode;
  /** The response; it has other members, or none, if another server sent it. */
  body: Partial<Schema<'Error'>>;
  passing: boolean;
}

/** The ending of a request. */
export type Ending = 'approved' | 'expired' | 'decided' | 'gone' | 'locked' | 'denied' | 'reported';

/** An approval request on this device. */
export interface Item {
  deviceId: string;
  request: ApprovalRequest;
  /** The server's clock minus this browser's, in seconds. */
  skew: number;
  phase: 'open' | 'sending' | 'ended';
  /** The typed number. */
  number: string;
  error: string;
  attemptsLeft: number | null;
  /** The request to which the typed number belongs, while the user sees that request. */
  other: { request: OtherRequest; ended: Ending | null; busy: boolean; error: string } | null;
  ended: { kind: Ending; reportable: boolean; busy: boolean; error: string } | null;
  /** Whether the user has touched the card or used the keyboard in it. */
  used: boolean;
  /** Whether the user closed its result, or a later one replaced it. */
  dismissed: boolean;
}

/** An account, with its state from the server. */
export interface Followed {
  account: Account;
  /** The account's state. */
  standing: string;
  /** The server does not know this device any more, or the key is lost. */
  gone: boolean;
  lost: boolean;
  passkey: PasskeyState | null;
  failure: FailedCall | null;
  /** By this browser's clock, in seconds. */
  cooldownUntil: number | null;
  /** The user ended a cooldown, and has received no request since. */
  lifted: boolean;
  notifications: AccountNotification[];
  history: { items: PastRequest[] | null; error: string } | null;
  /** Whether the prompt of the device's screen lock is open for this account. */
  busy: boolean;
  /** `passkeyPart` is the button that the error of the passkey belongs to. */
  errors: { remove: string; cooldown: string; notifications: string; passkey: string; passkeyPart: PasskeyPart };
}

export interface HomeScreen {
  name: 'home';
}

export interface EnrolmentScreen {
  name: 'enrolment';
  token: string;
  phase: 'checking' | 'failed' | 'ready' | 'confirming';
  failure: FailedCall | null;
  offer: EnrolmentPreview | null;
  deviceName: string;
  /** Whether the error is about the device's name. */
  unnamed: boolean;
  error: string;
  copied: string;
}

export interface LoginScreen {
  name: 'login';
  token: string;
  phase: 'not-enrolled' | 'looking' | 'ready' | 'asking' | 'failed';
  failure: FailedCall | null;
  offer: QrSignInPreview | null;
  /** The selected account. */
  deviceId: string | null;
  /** The path of the login page, once its approval is requested and if it is in this browser. */
  loginPage: string | null;
}

export interface EntryScreen {
  name: 'entry';
  /** The typed code of another device. */
  typed: string;
  /** Whether the code came with a link, so that the user has not read it from the other device. */
  isLinked: boolean;
  busy: boolean;
  error: string;
}

export interface CameraScreen {
  name: 'camera';
  video: HTMLVideoElement;
  phase: 'on' | 'no-camera';
  /** Whether a code of another server was seen. */
  foreign: boolean;
  /** Stops the camera. */
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
  link: DeviceEnrolmentLink | null;
  copied: string;
  /** The device that was enrolled by this link. */
  added: string | null;
}

export interface CodesScreen {
  name: 'codes';
  deviceId: string;
  failure: FailedCall | null;
  /** The id that confirms the codes. */
  id: string;
  codes: string[] | null;
  /** Whether the user has earlier codes, which stay valid until the new ones are confirmed. */
  hasEarlier: boolean;
  /** Whether the confirmation is in progress. */
  busy: boolean;
  /** The reason why it failed. */
  error: string;
  /** The codes as a file: its text, and its URL. */
  file: { text: string; url: string } | null;
  copied: string;
  /** Releases the file. */
  left: () => void;
}

export interface UnsupportedScreen {
  name: 'unsupported';
  why: string;
  /** Whether the page has an enrolment link, which can be used elsewhere. */
  hasLink: boolean;
  copied: string;
}

export type Screen =
  | HomeScreen
  | EnrolmentScreen
  | EntryScreen
  | LoginScreen
  | CameraScreen
  | DevicesScreen
  | LinkScreen
  | CodesScreen
  | UnsupportedScreen;

/** An entry of the browser's history: a screen, its depth below the home screen, and its device. */
export interface Step {
  /** The list of several requests is part of the home screen; an entry that was left has no screen any more. */
  name: Screen['name'] | 'requests' | 'left';
  depth: number;
  deviceId?: string;
}

/** The complete state of the page. */
export interface State {
  /** This browser's clock at the last render, in seconds. */
  now: number;
  operator: string;
  /** The cooldown after a report, in minutes. */
  reportCooldown: number;
  /** Whether the cards of requests have a keypad: a setting of this browser. */
  keypad: boolean;
  /** Null until the accounts are loaded. */
  screen: Screen | null;
  /** By the account's device. */
  accounts: Map<string, Followed>;
  /** By the request's id. */
  requests: Map<string, Item>;
  /** The request whose card the user sees, and since when, in seconds. */
  appeared: { id: string; at: number } | null;
  /** The request that the user selected from several or uses, or whose card must stay in place. */
  chosen: string | null;
  /** Whether the user wants the list of several requests. */
  listing: boolean;
  online: boolean;
  /** Whether the device has a screen lock that the browser can use; null until that is known. */
  lockable: boolean | null;
  push: 'impossible' | 'denied' | 'off' | 'on';
  pushError: string;
  camera: boolean;
  install: InstallPrompt | null;
  /** Whether a newer version is ready. */
  update: boolean;
  /** Whether the user removed an account here, and so knows the reason. */
  parted: boolean;
  /** Whether the portal led here, to a part of an account. */
  wanted: boolean;
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

/** All actions of the user. Views call these; see actions.js. */
export type Actions = typeof import('./actions.js').actions;
