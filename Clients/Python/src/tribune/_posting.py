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

# userInfo shorter than this, in bytes, needs no file.
_SHORT: Final = _wire.DESCRIPTOR_PAYLOAD_LENGTH
_NOW: Final = Style.NOW

_STYLES: Final = {
    Style.NOW: _wire.PostingStyle.NOW,
    Style.ASAP: _wire.PostingStyle.AS_SOON_AS_POSSIBLE,
    Style.IDLE: _wire.PostingStyle.WHEN_IDLE,
}


class Posting:
    """The methods of `Bus` to post notifications."""

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

        The post is queued behind everything that was sent before. This method waits only while more
        than 1 MiB waits to be written. It does not report a refusal, for example by the policy.
        `post_acknowledged` does.

        - `user_info`: bytes, which are sent unchanged; None for none; any other value is sent as
          JSON.
        - `object`: the object of the notification, such as ``window/42``; empty for none.
        - `style`: when the bus delivers the notification.
        - `coalesce_name`, `coalesce_object`: whether the post replaces this user's posts that wait
          on the bus, and have the same name, or the same object. With both, name and object must be
          the same.
        - `retain`: whether the bus keeps the notification for later observers, as the last one of
          its name and object. A post without userInfo clears the one that the bus keeps.
        - `bound`: with `retain`, whether the bus clears the notification when this connection ends
          for good. Observers then get it without userInfo. A restart of the bus does not clear it.
        - `immediate`: whether suspended connections receive the notification too.

        Raises `TribuneError`: `INVALID_NAME`, `RESERVED_NAME`, `INVALID_OBJECT`,
        `PAYLOAD_TOO_LONG`, `CONNECTION_LOST`; `TypeError` or `ValueError` for userInfo that cannot
        be JSON.
        """
        link = self._link
        payload = user_info if type(user_info) is bytes else encoded_user_info(user_info)
        word, route = plain_route(name, object)
        is_plain = not (coalesce_name or coalesce_object or retain or bound or immediate)
        if is_plain and style is _NOW and len(payload) < _SHORT and link.takes_plain_posts:
            # This is the fast path for nearly all posts. Every bus accepts this size, and the
            # outbox has space.
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

        With the style `NOW`, the notification is then in the queues of all receivers. The
        parameters are those of `post`. Raises `TribuneError` as `post` does, and any refusal of the
        bus, such as `NOT_PERMITTED`; `LIMIT_EXCEEDED` if `retain` is true, and this user's share of
        retained notifications is used up.
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

        Use this method for a ``will``, to let observers prepare. If an observer fails, disconnects
        or is too slow, that is no error: the reply names it. Without awaited observers, the reply
        comes at once. Cancelling the task ends the waiting; the notification stays posted.

        `deadline` is the longest time to wait, in seconds. The default is the bus's: 30 s, unless
        it is configured otherwise. The other parameters are those of `post`. Raises `TribuneError`
        as `post_acknowledged` does.
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
