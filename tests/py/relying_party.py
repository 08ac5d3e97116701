"""A relying party with Authlib, configured only by discovery.

It executes calls in lines of JSON, and answers each line with one. The calls and answers are those of
tests/js/relying_party.mjs, which does the same with openid-client.
"""

import json
import os
import sys
import time
from urllib.parse import parse_qsl, urlsplit

# Assent allows plain http only for localhost, where the tests run.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError, OpenIDMixin
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import ClientSecretJWT, PrivateKeyJWT
from authlib.oidc.discovery import OpenIDProviderMetadata, get_well_known_url
from joserfc.jwk import RSAKey

PATIENCE_S = 30


def short_lived(kind):
    """Return the same client authentication method, with assertions that are valid for one minute.

    Authlib's own assertions are valid for one hour, and the provider rejects more than five minutes.
    """

    class ShortLived(kind):
        def sign(self, auth, token_endpoint):
            self.claims = {"exp": int(time.time()) + 60}
            return super().sign(auth, token_endpoint)

    return ShortLived


class RelyingParty(OAuth2Session, OpenIDMixin):
    """One application. Authlib verifies ID tokens and stores the tokens."""

    def __init__(self, registration):
        self.registration = registration
        method = registration["method"]
        # With a certificate (RFC 8705), the request contains only the client ID, like a request without authentication.
        named = "none" if method == "tls_client_certificate" else method
        secret = registration.get("client_secret")
        if method == "private_key_jwt":
            secret = RSAKey.import_key(registration["private_key"])
        super().__init__(
            registration["client_id"],
            secret,
            token_endpoint_auth_method=named,
            revocation_endpoint_auth_method=named,
            redirect_uri=registration["redirect_uri"],
            code_challenge_method="S256",
            default_timeout=PATIENCE_S,
        )
        # Otherwise the machine's proxy, certificates or .netrc would affect the requests.
        self.trust_env = False
        if registration.get("certificate_file"):
            self.cert = (registration["certificate_file"], registration["certificate_key_file"])
            self.verify = registration["trusted_file"]
        self.server_metadata = self.discover(registration["issuer"])
        token_endpoint = self.endpoint("token_endpoint")
        self.metadata["token_endpoint"] = token_endpoint
        # The audience: Authlib's default is the token endpoint, but the provider accepts only the issuer.
        self.register_client_auth_method(short_lived(ClientSecretJWT)(registration["issuer"]))
        self.register_client_auth_method(short_lived(PrivateKeyJWT)(registration["issuer"]))

    def discover(self, issuer):
        response = self.request("GET", get_well_known_url(issuer, external=True), withhold_token=True)
        response.raise_for_status()
        metadata = OpenIDProviderMetadata(response.json())
        metadata.validate()
        if metadata["issuer"] != issuer:
            raise ValueError(f"the document is of {metadata['issuer']}")
        return metadata

    def endpoint(self, name):
        """Return an endpoint, or its alias for clients with a certificate (RFC 8705 section 5)."""
        if self.registration["method"] == "tls_client_certificate":
            return self.server_metadata["mtls_endpoint_aliases"].get(name) or self.server_metadata[name]
        return self.server_metadata[name]

    # The methods that Authlib's OpenIDMixin requires.

    def load_server_metadata(self):
        return {**self.server_metadata, "userinfo_endpoint": self.endpoint("userinfo_endpoint")}

    def _get_session(self):
        return self

    # The calls.

    def authorize(self, parameters):
        self.nonce, self.verifier = generate_token(20), generate_token(48)
        url, self.state = self.create_authorization_url(
            self.server_metadata["authorization_endpoint"],
            code_verifier=self.verifier,
            nonce=self.nonce,
            **parameters,
        )
        return {"url": url}

    def sign_in(self, url, form=None):
        if form is not None:
            url = f"{url}?{form}"
        query = dict(parse_qsl(urlsplit(url).query))
        if "error" in query:
            raise OAuthError(query["error"], query.get("error_description"))
        self.fetch_token(authorization_response=url, code_verifier=self.verifier)
        return self.received(self.nonce)

    def refresh(self):
        self.refresh_token()
        # A refresh has no new nonce, and the ID token may omit the first one (OpenID Connect Core section 12.2).
        return self.received(None)

    def received(self, nonce):
        claims = self.parse_id_token(self.token, nonce)
        userinfo = self.userinfo()
        if userinfo["sub"] != claims["sub"]:
            raise ValueError("UserInfo is of another user")
        return {"claims": claims, "userinfo": userinfo, "tokens": self.token}

    def introspect(self):
        token = self.token["access_token"]
        return self.agreed(self.introspect_token(self.endpoint("introspection_endpoint"), token)).json()

    def revoke(self):
        # Without a token argument, Authlib sends the refresh token, or otherwise the access token.
        self.agreed(self.revoke_token(self.endpoint("revocation_endpoint")))
        return {}

    def agreed(self, response):
        """Return the answer, or raise its error, because Authlib does not check the answers of these endpoints."""
        if not response.ok:
            body = response.json()
            raise OAuthError(body["error"], body.get("error_description"))
        return response

    def end_session(self, parameters):
        hint = self.token["id_token"]
        return {"url": self.create_logout_url(id_token_hint=hint, **parameters)["url"]}

    def client_credentials(self, scope=None):
        self.fetch_token(grant_type="client_credentials", **({"scope": scope} if scope else {}))
        return {"tokens": self.token}

    def answer(self, details):
        """Execute one call. A rejection by the protocol is also an answer."""
        call = details.pop("call")
        try:
            return getattr(self, call)(**details)
        except OAuthError as refusal:
            return {"error": refusal.error, "error_description": refusal.description}


def main():
    party = RelyingParty(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        print(json.dumps(party.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
