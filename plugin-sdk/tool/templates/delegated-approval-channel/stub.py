"""A stub of the vendor, for trials on this machine: python3 stub.py [PORT] [STATUS]

It prints each question with its letters, and answers each poll with STATUS: approved, denied, expired or pending. It
authenticates no caller, so it is for trials only.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 8099
STATUS = sys.argv[2] if len(sys.argv) > 2 else "approved"


class Vendor(BaseHTTPRequestHandler):
    def answer(self, status, body=None):
        data = json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_PUT(self):
        question = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        print(f"{question['person']}: {question['text']}. Letters: {question['binding_message']}", flush=True)
        self.answer(201)

    def do_GET(self):
        self.answer(200, {"reference": self.path.rsplit("/", 1)[-1], "status": STATUS})

    def do_DELETE(self):
        self.answer(204)

    def log_message(self, *arguments):
        """The questions are enough."""


server = ThreadingHTTPServer(("127.0.0.1", PORT), Vendor)
print(f"listening on http://localhost:{server.server_port}, answering {STATUS}", flush=True)
server.serve_forever()
