"""An SMTP server for tests. It executes calls in lines of JSON, and answers each line with one.

The first line has its settings: `security` (`none`, `starttls` or `implicit`), `certificate` and `key` (files), `user`
and `password`, and `port`, or none for a free one. The answer has the port. Then:

- `{"answer": "451 later"}`: answers each message with this; null accepts them again.
- `{"attempts": 2}`: waits until clients have transferred this number of messages, accepted or not.
- `{"messages": 1}`: waits until it has accepted this number of messages, and returns them.
"""

import email
import email.policy
import json
import socket
import ssl
import sys
import threading

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

PATIENCE_S = 600


class Inbox:
    def __init__(self, settings):
        self.begins_with_tls = settings["security"] == "implicit"
        self.changed = threading.Condition()
        self.answer = None
        self.attempts = 0
        self.messages = []

    async def handle_DATA(self, server, session, envelope):
        with self.changed:
            self.attempts += 1
            accepted = self.answer is None
            if accepted:
                self.messages.append(shown(envelope, session, self.begins_with_tls))
            self.changed.notify_all()
            return "250 2.0.0 queued" if accepted else self.answer

    def wait(self, condition):
        with self.changed:
            if not self.changed.wait_for(condition, PATIENCE_S):
                raise TimeoutError("the expected messages did not come")

    def call(self, call):
        if "answer" in call:
            with self.changed:
                self.answer = call["answer"]
            return {}
        if "attempts" in call:
            self.wait(lambda: self.attempts >= call["attempts"])
            return {"attempts": self.attempts}
        self.wait(lambda: len(self.messages) >= call["messages"])
        return {"messages": self.messages}


def shown(envelope, session, begins_with_tls):
    """Return a message as a mail program shows it."""
    message = email.message_from_bytes(envelope.content, policy=email.policy.default)

    def part(kind):
        found = message.get_body((kind,))
        return found and found.get_content()

    return {
        "from": envelope.mail_from,
        "to": envelope.rcpt_tos,
        "headers": [[name, str(value)] for name, value in message.items()],
        "type": message.get_content_type(),
        "text": part("plain"),
        "html": part("html"),
        # The session reports TLS only after STARTTLS.
        "is_encrypted": begins_with_tls or session.ssl is not None,
        "is_authenticated": bool(session.authenticated),
        "hello": session.host_name,
    }


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def controller(settings, inbox):
    options = {"hostname": "127.0.0.1", "port": settings.get("port") or free_port()}
    if settings["security"] != "none":
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(settings["certificate"], settings["key"])
        if settings["security"] == "starttls":
            options |= {"tls_context": context, "require_starttls": True}
        else:
            options["ssl_context"] = context
    if settings.get("user"):
        expected = (settings["user"].encode(), settings["password"].encode())

        def authenticator(server, session, envelope, mechanism, data):
            # Not handled: aiosmtpd sends its own answer to a failure.
            return AuthResult(success=(data.login, data.password) == expected, handled=False)

        options |= {"authenticator": authenticator, "auth_required": True, "auth_require_tls": False}
    return Controller(inbox, **options)


def main():
    settings = json.loads(sys.stdin.readline())
    inbox = Inbox(settings)
    server = controller(settings, inbox)
    server.start()
    print(json.dumps({"port": server.port}), flush=True)
    for line in sys.stdin:
        print(json.dumps(inbox.call(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
