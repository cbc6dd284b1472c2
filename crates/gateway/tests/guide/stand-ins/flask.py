"""As much of Flask as the guide's agents use, over the standard library."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Request:
    json = None


request = _Request()


def jsonify(value):
    return value


class Flask:
    def __init__(self, name):
        self.routes = {}

    def route(self, path, methods):
        def keep(function):
            for method in methods:
                self.routes[method, path] = function
            return function

        return keep

    def run(self, port):
        routes = self.routes

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                function = routes.get(("POST", self.path))
                if function is None:
                    self.send_error(404)
                    return
                if self.headers.get("Content-Type") != "application/json":
                    self.send_error(415)
                    return
                request.json = json.loads(body)
                answer = function()
                value, status = answer if isinstance(answer, tuple) else (answer, 200)
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *words):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler)
        server.serve_forever()
