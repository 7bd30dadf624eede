# SPDX-License-Identifier: Apache-2.0
"""The golden vectors, which every codec of the protocol reads."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tribune import _wire
from tribune._fields import FieldError
from tribune._frame import (
    HEADER_LENGTH,
    HELLO_LENGTH,
    Fields,
    Frame,
    FrameError,
    Hello,
    decode_fields,
    encode,
)
from tribune._wire import Ended, Entry, ErrorCode, FrameKind

VECTORS = Path(__file__).parents[3] / "Tests/Unit/TribuneWireTests/Vectors"
INDEX: dict[str, dict[str, Any]] = json.loads((VECTORS / "index.json").read_text())
FRAMES = sorted(INDEX)
FIELDS: dict[FrameKind, type[Fields]] = {
    fields.KIND: fields for fields in vars(_wire).values() if hasattr(fields, "KIND")
}
# The index has no hellos.
HELLOS = {
    "hello": Hello(),
    "hello-descriptors": Hello(capabilities=1),
    "hello-newer": Hello(version=3),
    "hello-posters": Hello(capabilities=3),
}


def vector(name: str) -> bytes:
    lines = (VECTORS / f"{name}.hex").read_text().splitlines()
    return bytes.fromhex("".join(line.partition("#")[0] for line in lines))


def camel_case(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name.rstrip("_").lower())


def field_name(name: str) -> str:
    return "busPID" if name == "bus_pid" else camel_case(name)


def said(value: Any) -> Any:
    """A value in the form of the index."""
    if isinstance(value, enum.IntFlag):
        return int(value)
    if isinstance(value, enum.IntEnum):
        return camel_case(value.name)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [said(element) for element in value]
    if isinstance(value, Entry | Ended):
        return {value.what: said(value.content)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        pairs = {field_name(name): said(getattr(value, name)) for name in names}
        # A single kind of list has a question.
        return {key: one for key, one in pairs.items() if key != "question" or one is not None}
    return value


def frame_of(data: bytes) -> Frame:
    frame = Frame.decode(data)
    assert isinstance(frame, Frame)
    return frame


def test_every_vector_is_read() -> None:
    assert {path.stem for path in VECTORS.glob("*.hex")} == {*FRAMES, *HELLOS}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_says_what_the_index_says(name: str) -> None:
    frame = frame_of(vector(name))
    kind = FrameKind(frame.kind)
    fields = said(decode_fields(FIELDS[kind], frame))
    found = {
        "kind": kind.name.lower(),
        "flags": frame.flags,
        "sender": frame.sender,
        "serial": frame.serial,
        "name": frame.name,
        "object": frame.object,
        "payload": frame.payload.hex(),
        "fields": fields if frame.fields_length else {},
    }
    assert found == INDEX[name]


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_is_encoded_as_it_was(name: str) -> None:
    data = vector(name)
    frame = frame_of(data)
    encoded = encode(
        decode_fields(FIELDS[FrameKind(frame.kind)], frame),
        name=frame.name.encode(),
        object=frame.object.encode(),
        payload=frame.payload,
        serial=frame.serial,
        flags=frame.flags,
        sender=frame.sender,
    )
    assert encoded == data


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_that_is_not_whole_is_waited_for(name: str) -> None:
    data = vector(name)
    for length in range(len(data)):
        assert Frame.decode(data[:length]) == (0 if length < HEADER_LENGTH else len(data))


def with_fields(data: bytes, fields: bytes) -> bytes:
    """The frame with other fields."""
    old = int.from_bytes(data[24:28], "little")
    length = len(data) - old + len(fields)
    header = length.to_bytes(4, "little") + data[4:24] + len(fields).to_bytes(4, "little")
    return header + data[28:HEADER_LENGTH] + fields + data[HEADER_LENGTH + old :]


@pytest.mark.parametrize("name", FRAMES)
def test_fields_that_end_early_are_an_error(name: str) -> None:
    data = vector(name)
    frame = frame_of(data)
    fields = data[HEADER_LENGTH : HEADER_LENGTH + frame.fields_length]
    codec = FIELDS[FrameKind(frame.kind)]
    may_be_empty = frame.kind in (FrameKind.POST, FrameKind.OBSERVE)
    for length in range(1 if may_be_empty else 0, len(fields)):
        with pytest.raises(FieldError):
            decode_fields(codec, frame_of(with_fields(data, fields[:length])))


@pytest.mark.parametrize("name", FRAMES)
def test_fields_of_later_versions_are_ignored(name: str) -> None:
    data = vector(name)
    frame = frame_of(data)
    if frame.fields_length == 0:
        return
    fields = data[HEADER_LENGTH : HEADER_LENGTH + frame.fields_length]
    codec = FIELDS[FrameKind(frame.kind)]
    longer = frame_of(with_fields(data, fields + b"later"))
    if frame.kind == FrameKind.HOLD or codec is FIELDS[FrameKind.VERDICT]:
        longer = frame_of(with_fields(data, fields + b"\0\0later"))
    assert decode_fields(codec, longer) == decode_fields(codec, frame)


@pytest.mark.parametrize(("name", "hello"), HELLOS.items())
def test_a_hello_says_what_its_vector_says(name: str, hello: Hello) -> None:
    assert Hello.decode(vector(name)) == hello
    assert hello.encode() == vector(name)
    hello.require_common_version()


@pytest.mark.parametrize("name", HELLOS)
def test_a_hello_that_is_not_whole_is_an_error(name: str) -> None:
    for length in range(HELLO_LENGTH):
        with pytest.raises(FrameError):
            Hello.decode(vector(name)[:length])


def test_a_hello_of_another_version_is_refused() -> None:
    with pytest.raises(FrameError) as caught:
        Hello(version=3, minimum=2).require_common_version()
    assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("length", "names", "fields", "code"),
    [
        (31, 0, 0, ErrorCode.MALFORMED_FRAME),
        (0, 0, 0, ErrorCode.MALFORMED_FRAME),
        (40, 9, 0, ErrorCode.MALFORMED_FRAME),
        (40, 0, 9, ErrorCode.MALFORMED_FRAME),
        (0xFFFFFFFF, 0, 0, ErrorCode.FRAME_TOO_LONG),
        (0xFFFFFFFF, 0, 0x7FFFFFFF, ErrorCode.FRAME_TOO_LONG),
    ],
)
def test_lengths_are_checked_before_the_frame_is_whole(
    length: int, names: int, fields: int, code: ErrorCode
) -> None:
    header = bytearray(HEADER_LENGTH)
    header[0:4] = length.to_bytes(4, "little")
    header[6] = names
    header[24:28] = fields.to_bytes(4, "little")
    with pytest.raises(FrameError) as caught:
        Frame.decode(bytes(header))
    assert caught.value.code is code


@pytest.mark.parametrize("name", FRAMES)
def test_damaged_fields_are_read_or_refused(name: str) -> None:
    data = vector(name)
    frame = frame_of(data)
    codec = FIELDS[FrameKind(frame.kind)]
    # Repeatable.
    random = Random(name)
    for _ in range(300):
        fields = bytearray(data[HEADER_LENGTH : HEADER_LENGTH + frame.fields_length])
        for _ in range(random.randrange(1, 4)):
            if fields:
                fields[random.randrange(len(fields))] = random.randrange(256)
        with contextlib.suppress(FrameError):
            decode_fields(codec, frame_of(with_fields(data, bytes(fields))))


def test_a_list_cannot_have_more_records_than_bytes() -> None:
    data = vector("awaited")
    frame = frame_of(data)
    fields = bytearray(data[HEADER_LENGTH : HEADER_LENGTH + frame.fields_length])
    fields[4:8] = b"\xff\xff\xff\xff"
    with pytest.raises(FrameError):
        decode_fields(FIELDS[FrameKind.AWAITED], frame_of(with_fields(data, bytes(fields))))
