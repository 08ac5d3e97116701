// browserless_client.mjs
import * as client from 'openid-client';

/** The results that end a request without tokens. */
const ENDS = ['access_denied', 'expired_token'];

/** Sends a request. The server may keep a poll open until the decision, for 30 seconds at most. */
function patientFetch(url, { headers, ...options }) {
  const patient = new Headers(headers);
  patient.set('prefer', 'wait=30');
  return fetch(url, { ...options, headers: Object.fromEntries(patient) });
}

/** Reads the discovery document of `issuer`. A public client has no secret. `isPatient`: for long polls. */
export function connect({ issuer, clientId, clientSecret, isPatient }) {
  const way = clientSecret ? client.ClientSecretBasic(clientSecret) : client.None();
  return client.discovery(new URL(issuer), clientId, undefined, way, {
    // Plain http is only for a server on this machine. The checks are for the signatures of ID tokens.
    execute: [client.enableNonRepudiationChecks, ...(issuer.startsWith('http:') ? [client.allowInsecureRequests] : [])],
    timeout: 40,
    [client.customFetch]: isPatient ? patientFetch : undefined,
  });
}

/** Asks for a user, and waits for the decision on the phone. Show `binding_number` to the user, if `shown` gets one. */
export async function askUser(config, parameters, shown) {
  const request = await client.initiateBackchannelAuthentication(config, parameters);
  shown(request);
  return outcome(client.pollBackchannelAuthenticationGrant(config, request));
}

/** Signs a user in on this device. Show the `user_code` and the `verification_uri` that `shown` gets. */
export async function signInOnDevice(config, parameters, shown) {
  const codes = await client.initiateDeviceAuthorization(config, parameters);
  shown(codes);
  return outcome(client.pollDeviceAuthorizationGrant(config, codes));
}

/** Returns the tokens with the claims of the user, or the error that ended the request. */
async function outcome(polls) {
  try {
    const tokens = await polls;
    return { tokens, claims: tokens.claims() };
  } catch (failure) {
    if (failure instanceof client.ResponseBodyError && ENDS.includes(failure.error)) return { error: failure.error };
    throw failure;
  }
}
