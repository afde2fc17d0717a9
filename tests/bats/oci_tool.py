#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""oci_tool.py IMAGE LAYER...: an OCI image layout, tagged "t", of layers from the bottom
up: tar archives, as they are, gzip (.gz) or zstd (.zst)."""
import gzip
import hashlib
import json
import os
import subprocess
import sys

TYPE = "application/vnd.oci.image."


def put(top, data):
    digest = hashlib.sha256(data).hexdigest()
    with open(os.path.join(top, "blobs", "sha256", digest), "wb") as f:
        f.write(data)
    return {"digest": "sha256:" + digest, "size": len(data)}


def layer(top, path):
    with open(path, "rb") as f:
        data = f.read()
    tar, kind = data, ""
    if path.endswith(".gz"):
        tar, kind = gzip.decompress(data), "+gzip"
    elif path.endswith(".zst"):
        tar = subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
        kind = "+zstd"
    blob = put(top, data)
    blob["mediaType"] = TYPE + "layer.v1.tar" + kind
    return blob, "sha256:" + hashlib.sha256(tar).hexdigest()


def main():
    top, paths = sys.argv[1], sys.argv[2:]
    os.makedirs(os.path.join(top, "blobs", "sha256"))
    layers = [layer(top, p) for p in paths]
    config = put(top, json.dumps({
        "architecture": "amd64", "os": "linux", "config": {},
        "rootfs": {"type": "layers", "diff_ids": [d for _, d in layers]},
    }).encode())
    config["mediaType"] = TYPE + "config.v1+json"
    manifest = put(top, json.dumps({
        "schemaVersion": 2, "mediaType": TYPE + "manifest.v1+json", "config": config,
        "layers": [b for b, _ in layers],
    }).encode())
    manifest["mediaType"] = TYPE + "manifest.v1+json"
    manifest["annotations"] = {"org.opencontainers.image.ref.name": "t"}
    with open(os.path.join(top, "index.json"), "w") as f:
        json.dump({"schemaVersion": 2, "manifests": [manifest]}, f)
    with open(os.path.join(top, "oci-layout"), "w") as f:
        json.dump({"imageLayoutVersion": "1.0.0"}, f)


main()
