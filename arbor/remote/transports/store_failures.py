"""What an object store's refusal means: the cause that its answer names, and not how the library came to hear of it."""

from __future__ import annotations

import re

from arbor.errors import printable
from arbor.remote.protocol.wire import Interrupted, first_line

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>\s*([^<]{1,100}?)\s*</Code>")
_MESSAGE = re.compile(r'(?:<Message>\s*|"message": ?")([^<"\n]{1,300})')
"""S3 and Azure answer in XML, Google in JSON."""
_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the variables of another provider, name the credentials"
)
_HINTS = (
    ("//169.254.169.254", _CREDENTIALS),  # where a machine of the provider's own would find some
    ("//metadata.google.internal", _CREDENTIALS),
    ("builder error", "an endpoint of http:// is to be allowed: AWS_ALLOW_HTTP=true or AZURE_ALLOW_HTTP=true"),
    ("region", "the region of the bucket goes into AWS_REGION"),
    ("PermanentRedirect", "the region of the bucket goes into AWS_REGION"),
)  # fmt: skip
_REFUSED = ("401", "403")
_ABSENT = "404"


def store_failure(url: str, error: Exception) -> Interrupted:
    """The error of a request to an object store that failed.

    Args:
        url: What the store is called, without a secret.
        error: From the library, with the store's answer in its text.
    """
    text = str(error)
    head = text.partition("\n\nDebug source:")[0]
    status = _STATUS.search(head)
    code, message = _CODE.search(head), _MESSAGE.search(head)
    said = " ".join([*([message[1].strip()] if message else []), *([f"({code[1]})"] if code else [])])
    hint = next((hint for words, hint in _HINTS if words in head), "")
    if status and status[1] == _ABSENT and not hint:
        hint = "is there such a bucket? it is made with the provider's own tools"
    elif status and status[1] in _REFUSED and not hint:
        hint = _CREDENTIALS
    return Interrupted(f"{url} cannot be reached: {printable(said) or first_line(error)}", hint)
