"""What schemathesis loads beside its own checks: a refusal that no schema can say is forgiven, if it stands in reasons.json."""

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
    """What fits the document is accepted, or refused for a reason on the list."""
    return unless_listed(positive_data_acceptance, ctx, response, case)


@schemathesis.check
def made_is_there_or_listed(ctx, response, case):
    """What was made is found, unless what is asked of it is another object that the list names."""
    return unless_listed(ensure_resource_availability, ctx, response, case)


@schemathesis.check
def authentication_is_enforced(ctx, response, case):
    """As `ignored_auth`, but whoever presents many wrong tokens may be told so (429) in place of 401."""
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
    """The reasons that this run needed, for whoever looks for those that no run needs."""
    path = os.environ.get("SCHEMA_FUZZ_USED")
    if path:
        pathlib.Path(path).write_text(json.dumps(sorted(USED)))
