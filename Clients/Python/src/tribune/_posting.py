# SPDX-License-Identifier: Apache-2.0
"""Posts notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import _wire
from ._errors import violation
from ._frame import HEADER_LENGTH, PLAIN_HEADER
from ._messages import AwaitedReply, Style, UserInfo, encoded_user_info, milliseconds
from ._names import encoded_name, encoded_object, plain_route
from ._wire import FrameFlags

if TYPE_CHECKING:
    from ._link import Link

# Bytes of userInfo that need no file.
_SHORT: Final = _wire.DESCRIPTOR_PAYLOAD_LENGTH
_NOW: Final = Style.NOW

_STYLES: Final = {
    Style.NOW: _wire.PostingStyle.NOW,
    Style.ASAP: _wire.PostingStyle.AS_SOON_AS_POSSIBLE,
    Style.IDLE: _wire.PostingStyle.WHEN_IDLE,
}


class Posting:
    """What `Bus` can post."""

    _link: Link

    async def post(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        style: Style = Style.NOW,
        coalesce_name: bool = False,
        coalesce_object: bool = False,
        retain: bool = False,
        bound: bool = False,
        immediate: bool = False,
    ) -> None:
        """Posts a notification without waiting for the bus.

        It is queued behind what was sent before. Waits only while more than 1 MiB waits to be
        written. Nothing reports that the bus refuses it, as it does if its policy does not allow
        it: `post_acknowledged` would.

        - `user_info`: bytes as they are, None for nothing, all else as JSON.
        - `object`: what it is about, such as ``window/42``; empty for nothing.
        - `style`: when the bus delivers it.
        - `coalesce_name`, `coalesce_object`: it replaces those of this user that wait on the bus
          and have the same name, the same object, or with both, the same of both.
        - `retain`: the bus keeps it for later observers, as the last of its name and object.
          Without userInfo, it clears the one that is kept.
        - `bound`: with `retain`, the bus removes it when this connection has ended for good, and
          observers get the notification without userInfo. Restarts of the bus do not end it.
        - `immediate`: suspended connections receive it, too.

        Raises `TribuneError`: `INVALID_NAME`, `RESERVED_NAME`, `INVALID_OBJECT`,
        `PAYLOAD_TOO_LONG`, `CONNECTION_LOST`; `TypeError` or `ValueError` for userInfo that cannot
        be JSON.
        """
        link = self._link
        payload = user_info if type(user_info) is bytes else encoded_user_info(user_info)
        word, route = plain_route(name, object)
        is_plain = not (coalesce_name or coalesce_object or retain or bound or immediate)
        if is_plain and style is _NOW and len(payload) < _SHORT and link.takes_plain_posts:
            # Fast path for nearly all posts: every bus accepts this size, and the outbox has room.
            link.last_serial = serial = link.last_serial + 1
            header = PLAIN_HEADER.pack(HEADER_LENGTH + len(route) + len(payload), word, serial)
            link.send_plain_post(header + route + payload)
            return
        link.require_open()
        link.require_fitting(len(payload))
        while link.outbox.is_full:
            await link.wait_for_capacity()
        fields = _post(style, coalesce_name, coalesce_object, retain, immediate, bound)
        encoded = encoded_name(name), encoded_object(object)
        if retain:
            link.keep_bound(fields, *encoded, payload)
        link.append(fields, *encoded, payload, 0, link.next_serial())
        await link.take_turn()

    async def post_acknowledged(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        style: Style = Style.NOW,
        coalesce_name: bool = False,
        coalesce_object: bool = False,
        retain: bool = False,
        bound: bool = False,
        immediate: bool = False,
    ) -> None:
        """Posts a notification, and returns when the bus has accepted it.

        With the style `NOW`, it is then in the queues of all receivers. The parameters are those of
        `post`. Raises `TribuneError` as `post` does, and any refusal of the bus, such as
        `NOT_PERMITTED`; `LIMIT_EXCEEDED` when it is to be retained and this user has too much
        retained.
        """
        fields = _post(style, coalesce_name, coalesce_object, retain, immediate, bound)
        encoded = encoded_name(name), encoded_object(object)
        payload = encoded_user_info(user_info)
        await self._link.request(
            fields,
            name=encoded[0],
            object=encoded[1],
            payload=payload,
            flags=FrameFlags.ACKNOWLEDGE,
        )
        if retain:
            self._link.keep_bound(fields, *encoded, payload)

    async def post_awaited(
        self,
        name: str,
        user_info: UserInfo = None,
        *,
        object: str = "",
        deadline: float | None = None,
        retain: bool = False,
        immediate: bool = False,
    ) -> AwaitedReply:
        """Posts a notification, and waits until its awaited observers are done.

        This is the barrier that a ``will`` needs. An observer that fails, disconnects or is too
        slow is no error: the reply names it. If there are no awaited observers, the reply comes at
        once. Cancelling the task ends the waiting; the notification stays posted.

        `deadline` is the longest time to wait, in seconds; by default the bus's (30 s unless
        configured otherwise). The rest is as for `post`. Raises `TribuneError` as
        `post_acknowledged` does.
        """
        fields = _post(Style.NOW, False, False, retain, immediate)
        fields.options |= _wire.PostOptions.AWAITED
        fields.deadline = milliseconds(deadline)
        reply = await self._link.request(
            fields,
            name=encoded_name(name),
            object=encoded_object(object),
            payload=encoded_user_info(user_info),
            deadline=fields.deadline,
            is_taken_back=True,
        )
        if not isinstance(reply, AwaitedReply):
            raise violation("the bus answered an awaited post without a list of its observers")
        return reply


def _post(
    style: Style,
    coalesce_name: bool,
    coalesce_object: bool,
    retain: bool,
    immediate: bool,
    bound: bool = False,
) -> _wire.Post:
    options = _wire.PostOptions(0)
    if coalesce_name:
        options |= _wire.PostOptions.COALESCE_BY_NAME
    if coalesce_object:
        options |= _wire.PostOptions.COALESCE_BY_OBJECT
    if retain:
        options |= _wire.PostOptions.RETAIN
    if bound:
        options |= _wire.PostOptions.BOUND
    if immediate:
        options |= _wire.PostOptions.IMMEDIATELY
    return _wire.Post(options=options, style=_STYLES[style])
