# SPDX-License-Identifier: Apache-2.0
"""Names, patterns and objects: their syntax, and how they match."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from ._errors import Code, TribuneError, escaped
from ._frame import route_word
from ._wire import NAME_LENGTH, OBJECT_LENGTH

_TOKEN: Final = r"[A-Za-z0-9_-]+"
_NAME: Final = re.compile(rf"{_TOKEN}(?:\.{_TOKEN})*")
_PATTERN: Final = re.compile(rf"(?:(?:{_TOKEN}|\*)\.)*(?:{_TOKEN}|\*|\*\*)")
# The last token is `will` or `did`, followed by a verb.
_WILL_OR_DID: Final = re.compile(r"(?:.*\.)?(?:will|did)[^a-z.][^.]*")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_RESERVED: Final = "tribune."


def encoded_name(name: str) -> bytes:
    """Encodes a name to send. Raises `TribuneError` if it is invalid or reserved."""
    if not _NAME.fullmatch(name) or len(name) > NAME_LENGTH:
        raise TribuneError(
            Code.INVALID_NAME,
            f'"{escaped(name)}" is not a name: dot-separated tokens of A-Z a-z 0-9 _ -',
        )
    if name.startswith(_RESERVED):
        raise TribuneError(Code.RESERVED_NAME, f"{name} is reserved for the bus")
    return name.encode()


def encoded_pattern(pattern: str) -> bytes:
    """Encodes a pattern. Raises `TribuneError` if it is invalid."""
    if not _PATTERN.fullmatch(pattern) or len(pattern) > NAME_LENGTH:
        raise TribuneError(
            Code.INVALID_PATTERN,
            f'"{escaped(pattern)}" is not a pattern: a name with * for one token, '
            "and ** at the end for one or more",
        )
    return pattern.encode()


def encoded_object(object: str) -> bytes:
    """Encodes an object, which may be empty. Raises `TribuneError` if it is invalid."""
    try:
        encoded = object.encode()
    except UnicodeEncodeError:
        encoded = None
    if encoded is None or len(encoded) > OBJECT_LENGTH or _CONTROL.search(object):
        raise TribuneError(
            Code.INVALID_OBJECT,
            f'"{escaped(object)}" is not an object: UTF-8 without control characters, '
            f"at most {OBJECT_LENGTH} bytes",
        )
    return encoded


@lru_cache(maxsize=1024)
def plain_route(name: str, object: str) -> tuple[int, bytes]:
    """Returns the `route_word` of a plain post, and the bytes of its name and object."""
    encoded = encoded_name(name), encoded_object(object)
    return route_word(len(encoded[0]), len(encoded[1])), b"".join(encoded)


def is_name(text: str) -> bool:
    """Returns whether a text is a name, perhaps a reserved one."""
    return len(text) <= NAME_LENGTH and _NAME.fullmatch(text) is not None


def is_object(text: str) -> bool:
    """Returns whether a text is an object or empty."""
    return not _CONTROL.search(text)


def is_will_or_did(name: str) -> bool:
    """Returns whether a notification of this name also goes to delegates."""
    return not name.startswith(_RESERVED) and _WILL_OR_DID.fullmatch(name) is not None


def can_match_will_or_did(pattern: str) -> bool:
    """Returns whether a delegate with this pattern can receive notifications."""
    last = pattern.rpartition(".")[2]
    return last.startswith("*") or _WILL_OR_DID.fullmatch(last) is not None


class Matcher:
    """Matches names and objects for a registration."""

    def __init__(self, pattern: str, object: str) -> None:
        """Takes a valid pattern and object. Empty ones match any name and any object."""
        self._object = object
        self._is_of_bus = pattern.startswith(_RESERVED)
        tokens = {"*": "[^.]+", "**": ".+"}
        self._regex = re.compile(
            r"\.".join(tokens.get(token) or re.escape(token) for token in pattern.split("."))
            if pattern
            else ".+"
        )

    def matches(self, name: str, object: str, *, none_is_every: bool = False) -> bool:
        """Returns whether the bus sends notifications of this name and object for the registration.

        For delegates, a notification without an object concerns all objects (`none_is_every`).
        """
        return (
            (not self._object or self._object == object or (none_is_every and not object))
            and (self._is_of_bus or not name.startswith(_RESERVED))
            and self._regex.fullmatch(name) is not None
        )


class ActionNames:
    """The names of one action: for `window.close`, these are `window.shouldClose` and so on."""

    __slots__ = ("did", "did_fail", "should", "will")

    def __init__(self, action: str) -> None:
        """Raises `TribuneError` if `action` is not a name, or already has a should, will or did."""
        encoded_name(action)
        space, dot, verb = action.rpartition(".")
        if re.match(r"(?:should|will|did)(?:[^a-z]|$)", verb):
            raise TribuneError(
                Code.INVALID_NAME,
                f"{action} is a message about an action: the action's name is wanted",
            )
        verb = verb[:1].upper() + verb[1:]
        self.should = f"{space}{dot}should{verb}"
        self.will = f"{space}{dot}will{verb}"
        self.did = f"{space}{dot}did{verb}"
        self.did_fail = f"{space}{dot}didFailTo{verb}"
        encoded_name(self.did_fail)
