# SPDX-License-Identifier: Apache-2.0
"""A model's endpoint as agents know it, but for the model: streams chunks as server-sent
events. `endpoint.py PORT`"""
import http.server
import json
import sys
import time

EDIT = {"path": "README.md", "old": "hello", "new": "HELLO"}
PARTS = ["I will ", "edit ", "README.md. ", {"edit": EDIT}, "All ", "done.\n"]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert request["stream"] and request["messages"][0]["role"] == "user"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for part in PARTS:
            delta = {"content": part} if isinstance(part, str) else part
            self.wfile.write(b"data: %s\n\n" % json.dumps({"delta": delta}).encode())
            self.wfile.flush()
            time.sleep(0.4)
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
