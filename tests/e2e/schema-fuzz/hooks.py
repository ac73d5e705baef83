"""Checks of schemathesis that accept a refusal which no schema can describe, if reasons.json lists it."""

import atexit
import json
import os
import pathlib
import re

import schemathesis
from schemathesis.specs.openapi.checks import ensure_resource_availability, ignored_auth, positive_data_acceptance

REASONS = json.loads((pathlib.Path(__file__).parent / "reasons.json").read_text())
USED = set()


@schemathesis.check
def accepted_or_listed(ctx, response, case):
    """A request that matches the document is accepted, or refused for a listed reason."""
    return unless_listed(positive_data_acceptance, ctx, response, case)


@schemathesis.check
def made_is_there_or_listed(ctx, response, case):
    """A created object is found. A listed reason covers requests for other objects."""
    return unless_listed(ensure_resource_availability, ctx, response, case)


@schemathesis.check
def authentication_is_enforced(ctx, response, case):
    """Like `ignored_auth`, but a client with many wrong tokens may get 429 instead of 401."""
    try:
        return ignored_auth(ctx, response, case)
    except AssertionError as failure:
        if "accepts" in failure.title or "429" not in failure.message:
            raise
        return None


def unless_listed(check, ctx, response, case):
    try:
        return check(ctx, response, case)
    except AssertionError:
        code, message = refusal_of(response)
        operation = f"{case.operation.method.upper()} {case.operation.path}"
        for reason in REASONS:
            if (
                reason["code"] == code
                and re.search(reason["message"], message)
                and any(re.fullmatch(pattern, operation) for pattern in reason["operations"])
            ):
                USED.add(reason["message"])
                return None
        raise


def refusal_of(response):
    try:
        error = response.json()["error"]
        return error["code"], error["message"]
    except (ValueError, KeyError, TypeError):
        return "", ""


@atexit.register
def write_used():
    """Writes the reasons that this run needed. The test prints the others."""
    path = os.environ.get("SCHEMA_FUZZ_USED")
    if path:
        pathlib.Path(path).write_text(json.dumps(sorted(USED)))
