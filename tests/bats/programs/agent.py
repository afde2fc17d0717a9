# SPDX-License-Identifier: Apache-2.0
"""What a coding agent's program does, in small: sends the task to an endpoint, prints what
streams back, and makes the edits that come along. `agent.py URL TASK`"""
import json
import pathlib
import subprocess
import sys
import urllib.request

url, task = sys.argv[1:]
body = {"stream": True, "messages": [{"role": "user", "content": task}]}
request = urllib.request.Request(url + "/v1/chat", json.dumps(body).encode())
with urllib.request.urlopen(request) as answer:
    for line in answer:
        text = line.decode().strip()
        if not text.startswith("data: ") or text == "data: [DONE]":
            continue
        delta = json.loads(text[len("data: "):])["delta"]
        if "content" in delta:
            print(delta["content"], end="", flush=True)
        if "edit" in delta:
            file = pathlib.Path(delta["edit"]["path"])
            file.write_text(file.read_text().replace(delta["edit"]["old"], delta["edit"]["new"]))
subprocess.run(["git", "add", "-A"], check=True)
