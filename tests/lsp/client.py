"""A client of `hirc lsp` for tests: it speaks the real protocol and applies edits as an editor does."""
import json
import os
import queue
import subprocess
import threading

URI = "file:///tmp/a%20program.hir"
WAIT_S = 120  # reached only if the server hangs


class Failure(Exception):
    """An error response: its code and message."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.message = error["code"], error["message"]


class Client:
    def __init__(self, hirc, *options, encodings=None, start=True):
        self.process = subprocess.Popen([hirc, "lsp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0)
        self.encoding = "utf-16"
        self.messages = queue.Queue()
        self.notices = []  # notices that came while the client waited for something else
        self.next_id = 0
        self.version = 0
        self.text = ""
        threading.Thread(target=self._read, daemon=True).start()
        if start:
            general = {"positionEncodings": encodings} if encodings else {}
            self.capabilities = self.request("initialize", {"capabilities": {"general": general}})["capabilities"]
            self.encoding = self.capabilities["positionEncoding"]
            self.notify("initialized", {})

    # ---- the stream

    def _read(self):
        stream = self.process.stdout
        while True:
            length = None
            while (line := self._line(stream)) not in (b"", b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if length is None:
                self.messages.put(None)
                return
            body = b""
            while len(body) < length:
                part = os.read(stream.fileno(), length - len(body))
                if not part:
                    break
                body += part
            self.messages.put(json.loads(body.decode("utf-8")))

    @staticmethod
    def _line(stream):
        line = b""
        while not line.endswith(b"\n"):
            c = os.read(stream.fileno(), 1)
            if not c:
                return b""
            line += c
        return line

    def raw(self, data):
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view):]

    def frame(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return b"Content-Length: %d\r\n\r\n" % len(body) + body

    def send(self, message):
        self.raw(self.frame(message))

    def receive(self):
        return self.messages.get(timeout=WAIT_S)

    # ---- messages

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        self.next_id += 1
        return self.next_id, {"id": self.next_id, "method": method, "params": params}

    def answer(self, number):
        while True:
            message = self.receive()
            assert message is not None, "the server ended"
            if message.get("id", number) is None:
                continue  # a message about input that could not be read
            if "id" in message and "method" not in message:
                assert message["id"] == number, (message["id"], number)
                if "error" in message:
                    raise Failure(message["error"])
                return message["result"]
            self.notices.append(message)

    def request(self, method, params):
        number, message = self.ask(method, params)
        self.send(message)
        return self.answer(number)

    def diagnostics(self):
        """Returns the diagnostics of the version that was sent last."""
        while True:
            for i, message in enumerate(self.notices):
                params = message["params"]
                if message["method"] == "textDocument/publishDiagnostics" and params.get("version") == self.version:
                    del self.notices[: i + 1]
                    return params["diagnostics"]
            message = self.receive()
            assert message is not None, "the server ended"
            self.notices.append(message)

    def end(self):
        """Shuts the server down; returns its exit code."""
        assert self.request("shutdown", None) is None
        self.notify("exit", None)
        self.process.stdin.close()
        return self.process.wait(WAIT_S)

    # ---- the document

    def open(self, text):
        self.text, self.version = text, self.version + 1
        self.notify("textDocument/didOpen",
                    {"textDocument": {"uri": URI, "languageId": "hir", "version": self.version, "text": text}})

    def change(self, *changes):
        self.version += 1
        self.notify("textDocument/didChange",
                    {"textDocument": {"uri": URI, "version": self.version}, "contentChanges": list(changes)})

    def set(self, text):
        self.text = text
        self.change({"text": text})

    def edit(self, start, end, text):
        """Replaces the text between two offsets, sent as an incremental change."""
        change = {"range": {"start": self.position(start), "end": self.position(end)}, "text": text}
        self.text = self.text[:start] + text + self.text[end:]
        self.change(change)

    def units(self, text):
        return len(text.encode("utf-16-le")) // 2 if self.encoding == "utf-16" else len(text.encode())

    def position(self, offset):
        before = self.text[:offset]
        line = before.rfind("\n") + 1
        return {"line": before.count("\n"), "character": self.units(before[line:])}

    def offset(self, position):
        lines = self.text.split("\n")
        line = lines[position["line"]]
        at = sum(len(x) + 1 for x in lines[: position["line"]])
        for k in range(len(line) + 1):
            if self.units(line[:k]) >= position["character"]:
                return at + k
        return at + len(line)

    def slice(self, range_):
        return self.text[self.offset(range_["start"]): self.offset(range_["end"])]

    def find(self, mark):
        """Returns the offset that `|` marks in a piece of the text: find("linear(|G")."""
        at = mark.index("|")
        piece = mark.replace("|", "")
        assert self.text.count(piece) == 1, (piece, self.text.count(piece))
        return self.text.index(piece) + at

    def at(self, method, mark, **more):
        offset = mark if isinstance(mark, int) else self.find(mark)
        return self.request("textDocument/" + method,
                            {"textDocument": {"uri": URI}, "position": self.position(offset), **more})

    def of_document(self, method, **more):
        return self.request("textDocument/" + method, {"textDocument": {"uri": URI}, **more})

    def hover(self, mark):
        result = self.at("hover", mark)
        return result and result["contents"]["value"]

    def labels(self, mark):
        return [item["label"] for item in self.at("completion", mark)["items"]]

    def apply(self, edits):
        places = sorted(((self.offset(e["range"]["start"]), self.offset(e["range"]["end"]), e["newText"])
                         for e in edits), reverse=True)
        text = self.text
        for start, end, new in places:
            text = text[:start] + new + text[end:]
        return text
