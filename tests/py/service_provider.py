"""A service provider with pysaml2, configured only by the identity provider's metadata.

Two lines of JSON configure it, and it answers each with one. The lines and the pages are those of
tests/js/service_provider.mjs, which does the same with node-saml:
  {"folder", "signed"}                -> {"base", "entity_id", "metadata"}  `folder` has key.pem and certificate.pem
  {"url", "metadata", "certificate"}  -> {}  the address of the metadata, the metadata, and a file
                                             with the certificate of its signer

The pages:
  /          the signed-in user, as JSON, or 401
  /login     starts a sign-on, with the parameters `binding` (redirect or post), `format`, `force` and `passive`
  /acs       receives responses; the answer to a rejection is 403 with its status codes as JSON
  /logout    signs out here, and then at the identity provider, with `binding`
  /slo       receives logout requests, and the responses to its own requests
"""

import base64
import json
import os
import secrets
import sys
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

# Otherwise pysaml2 would request the metadata, which is on the loopback address, from the machine's proxy.
os.environ["NO_PROXY"] = "*"

from saml2 import BINDING_HTTP_POST, BINDING_HTTP_REDIRECT, class_name
from saml2.client import Saml2Client
from saml2.config import SPConfig
from saml2.md import EntityDescriptor
from saml2.metadata import entity_descriptor
from saml2.response import StatusError
from saml2.samlp import logout_request_from_string, logout_response_from_string
from saml2.sigver import verify_redirect_signature
from saml2.xmldsig import DIGEST_SHA256, SIG_RSA_SHA256

BINDINGS = {"redirect": BINDING_HTTP_REDIRECT, "post": BINDING_HTTP_POST}
# The relay state must return unchanged, whatever characters it has.
RELAY_STATE = "st&te=\"<ö>' +%20"
COOKIE = "pysaml2"


class Refused(Exception):
    """A message that is not trustworthy."""


class ServiceProvider:
    """One service provider: its pending requests, and its signed-in users."""

    def __init__(self, base, settings):
        self.base = base
        self.settings = settings
        self.outstanding = {}
        # The signed-in users, by cookie: the displayed values, and the user's name in pysaml2.
        self.sessions = {}
        self.names = {}
        self.client = None

    def config(self, identity_provider=None):
        folder = Path(self.settings["folder"])
        here = {"acs": f"{self.base}/acs", "slo": f"{self.base}/slo"}
        config = {
            "entityid": f"{self.base}/metadata",
            "key_file": str(folder / "key.pem"),
            "cert_file": str(folder / "certificate.pem"),
            "allow_unknown_attributes": True,
            "service": {
                "sp": {
                    "endpoints": {
                        "assertion_consumer_service": [(here["acs"], BINDING_HTTP_POST)],
                        "single_logout_service": [(here["slo"], binding) for binding in BINDINGS.values()],
                    },
                    # Without these, pysaml2 would sign with SHA-1, which the identity provider rejects.
                    "signing_algorithm": SIG_RSA_SHA256,
                    "digest_algorithm": DIGEST_SHA256,
                    "authn_requests_signed": self.settings["signed"],
                    "logout_requests_signed": True,
                    "logout_responses_signed": True,
                    "want_response_signed": True,
                    "want_assertions_signed": True,
                    "allow_unsolicited": False,
                }
            },
        }
        if identity_provider:
            # With the certificate, pysaml2 accepts the metadata only with a valid signature.
            trusted = {"url": identity_provider["url"], "cert": identity_provider["certificate"]}
            config["metadata"] = {"remote": [{**trusted, "node_name": class_name(EntityDescriptor())}]}
        return SPConfig().load(config)

    def metadata(self):
        return str(entity_descriptor(self.config()))

    def trust(self, identity_provider):
        self.client = Saml2Client(self.config(identity_provider))
        [self.idp] = self.client.metadata.identity_providers()

    # The pages. Each gets the query, the form and the cookie's value, and returns status, headers and body.

    def show(self, request):
        session = self.sessions.get(request.cookie)
        return (200, {}, session) if session else (401, {}, {})

    def login(self, request):
        wish = request.parameters
        requested, _, http = self.client.prepare_for_negotiated_authenticate(
            entityid=self.idp,
            binding=BINDINGS[wish.get("binding", "redirect")],
            relay_state=RELAY_STATE,
            nameid_format=wish.get("format"),
            sign=self.settings["signed"],
            **({"force_authn": "true"} if "force" in wish else {}),
            **({"is_passive": "true"} if "passive" in wish else {}),
        )
        self.outstanding[requested] = "/"
        return sent(http)

    def acs(self, request):
        form = request.form
        if form.get("RelayState") != RELAY_STATE:
            raise Refused(f"another relay state: {form.get('RelayState')!r}")
        try:
            response = self.client.parse_authn_request_response(
                form["SAMLResponse"], BINDING_HTTP_POST, self.outstanding
            )
        except StatusError as refusal:
            return 403, {}, {"refused": str(refusal)}
        if response is None:
            raise Refused("no response")
        del self.outstanding[response.in_response_to]
        known = response.session_info()
        key = secrets.token_urlsafe()
        self.sessions[key] = {
            "issuer": known["issuer"],
            "name_id": known["name_id"].text,
            "format": known["name_id"].format,
            "attributes": known["ava"],
            "session_index": known["session_index"],
        }
        self.client.users.add_information_about_person(known)
        self.names[key] = known["name_id"]
        return 303, {"Location": "/", "Set-Cookie": f"{COOKIE}={key}; Path=/; HttpOnly"}, None

    def logout(self, request):
        self.sessions.pop(request.cookie)
        binding = BINDINGS[request.parameters.get("binding", "redirect")]
        requests = self.client.do_logout(
            self.names.pop(request.cookie), [self.idp], reason="", expire=None, expected_binding=binding
        )
        _, http = requests[self.idp]
        return sent(http)

    def slo(self, request):
        binding = BINDING_HTTP_POST if request.form else BINDING_HTTP_REDIRECT
        message = request.form or request.parameters
        if not self.is_signed(message, binding):
            raise Refused("there is no valid signature")
        if "SAMLResponse" in message:
            response = self.client.parse_logout_request_response(message["SAMLResponse"], binding)
            if response is None or response.in_response_to not in self.client.state:
                raise Refused("no answer to a request of ours")
            return 200, {}, {"signed_out": response.response.status.status_code.value}
        name = self.names.pop(request.cookie)
        http = self.client.handle_logout_request(
            message["SAMLRequest"],
            name,
            binding,
            relay_state=message.get("RelayState"),
            sigalg=message.get("SigAlg"),
            signature=message.get("Signature"),
        )
        self.sessions.pop(request.cookie)
        return sent(http)

    def is_signed(self, message, binding):
        """Return whether a logout message is signed, because pysaml2 accepts some messages without a signature.

        If a posted message has a signature, pysaml2 verifies it itself.
        """
        if binding == BINDING_HTTP_POST:
            read = logout_request_from_string if "SAMLRequest" in message else logout_response_from_string
            text = base64.b64decode(message.get("SAMLRequest") or message["SAMLResponse"])
            return read(text).signature is not None
        if "Signature" not in message:
            return False
        certificates = self.client.metadata.certs(self.idp, "idpsso", "signing")
        backend = self.client.sec.sec_backend
        return any(verify_redirect_signature(message, backend, certificate) for _, certificate in certificates)


def sent(http):
    """Return an answer with which the browser forwards a message."""
    if http["method"] == "POST":
        return 200, dict(http["headers"]), http["data"]
    return http["status"], dict(http["headers"]), None


class Pages(BaseHTTPRequestHandler):
    """The pages of the service provider, by their paths."""

    def do_GET(self):
        self.form = {}
        self.serve()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.form = first_of(body)
        self.serve()

    def serve(self):
        address = urlsplit(self.path)
        self.parameters = first_of(address.query)
        cookie = SimpleCookie(self.headers.get("Cookie")).get(COOKIE)
        self.cookie = cookie and cookie.value
        provider = self.server.provider
        pages = {"/": provider.show, "/login": provider.login, "/acs": provider.acs}
        pages |= {"/logout": provider.logout, "/slo": provider.slo}
        try:
            status, headers, body = pages[address.path](self)
        except Exception as error:
            status, headers, body = 400, {}, {"error": repr(error)}
            print(f"{self.path}: {error!r}", file=sys.stderr)
        if not isinstance(body, str):
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        """Log nothing, because no test reads it."""


def first_of(query):
    return {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}


def main():
    settings = json.loads(sys.stdin.readline())
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.provider = ServiceProvider(f"http://localhost:{server.server_port}", settings)
    said = {"base": server.provider.base, "metadata": server.provider.metadata()}
    said["entity_id"] = f"{server.provider.base}/metadata"
    print(json.dumps(said), flush=True)
    server.provider.trust(json.loads(sys.stdin.readline()))
    print("{}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
