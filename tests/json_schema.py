#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""json_schema.py SCHEMA FILE [--lines]: is FILE (- for stdin) as SCHEMA says?
json_schema.py --schemas SCHEMA...: are these schemas?

With --lines each line of FILE is a document of its own, and there must be one. A
schema may refer to its neighbours in the same folder by file name. Prints what is
wrong, one line each, and exits 1 if anything is.
"""
import json
import pathlib
import sys
import warnings

import jsonschema


def unique(pairs):
    """An object; a key that stands twice is an error, which json.loads would hide."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key among %s" % [key for key, _ in pairs])
    return found


def no_constant(word):
    raise ValueError("%s is not JSON" % word)


def parse(text):
    return json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)


def check_schemas(names):
    for name in names:
        schema = parse(pathlib.Path(name).read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        if schema.get("$schema") != "https://json-schema.org/draft/2020-12/schema":
            raise ValueError("%s does not say that it is of draft 2020-12" % name)


def validator(path):
    store = {}
    for neighbour in path.parent.glob("*.schema.json"):
        store[neighbour.resolve().as_uri()] = parse(neighbour.read_text())
    uri = path.resolve().as_uri()
    schema = store[uri]
    resolver = jsonschema.RefResolver(uri, schema, store=store)
    return jsonschema.Draft202012Validator(
        schema, resolver=resolver, format_checker=jsonschema.FormatChecker()
    )


def documents(name, lines):
    text = sys.stdin.read() if name == "-" else pathlib.Path(name).read_text()
    if not lines:
        return [parse(text)]
    return [parse(line) for line in text.splitlines()]


def main():
    warnings.simplefilter("ignore", DeprecationWarning)
    if sys.argv[1] == "--schemas":
        return check_schemas(sys.argv[2:])
    wrong = []
    check = validator(pathlib.Path(sys.argv[1]))
    try:
        found = documents(sys.argv[2], sys.argv[3:] == ["--lines"])
    except ValueError as error:
        sys.exit("not JSON: %s" % error)
    if not found:
        sys.exit("no document at all")
    for number, document in enumerate(found, 1):
        for error in check.iter_errors(document):
            where = "/".join(str(part) for part in error.absolute_path) or "top"
            wrong.append("document %d, %s: %s" % (number, where, error.message))
    return "\n".join(wrong)


if __name__ == "__main__":
    sys.exit(main() or 0)
