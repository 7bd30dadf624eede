# SPDX-License-Identifier: Apache-2.0
"""The client of Tribune, a bus for one host, for asyncio.

    async with tribune.connect() as bus:
        await bus.post("backup.didFinish", {"bytes": 1048576}, object="volume/home")
        if await bus.ask("host.shouldReboot"):
            ...

A notification informs: its poster neither knows its observers nor waits for them. A query asks
delegates before an action, and one veto cancels the action. `connect` makes a `Bus`, whose methods
post, ask, observe and answer. All times are in seconds.
"""

from ._address import Address
from ._bus import Bus, connect
from ._delegation import (
    Abstain,
    Answer,
    Attachment,
    Conclusion,
    Delegate,
    Ending,
    FailurePolicy,
    Question,
    Value,
    Veto,
)
from ._errors import Code, TribuneError
from ._listing import (
    AccountInfo,
    ActionInfo,
    BusStatus,
    ConnectionInfo,
    DelegateInfo,
    DepartedInfo,
    Explanation,
    HoldInfo,
    MemberInfo,
    ObjectInfo,
    ObservationInfo,
    PolicyDecision,
    PolicyLine,
    ProtocolInfo,
    RetainedInfo,
)
from ._messages import (
    AwaitedReply,
    BusInfo,
    ConnectionEvent,
    Delivery,
    Disconnected,
    Failure,
    Interrupted,
    Lost,
    MissingObserver,
    Mode,
    Notification,
    Outcome,
    OutcomeKind,
    Peer,
    Progress,
    QueryReply,
    Reconnected,
    Stage,
    Style,
    Suspension,
    Units,
    UserInfo,
    Verdict,
    Vetoed,
)
from ._monitoring import Traffic
from ._observation import Observation, Subscription, TrafficMonitor
from ._terms import Action, Begun, Declaration, Hold

__all__ = [
    "Abstain",
    "AccountInfo",
    "Action",
    "ActionInfo",
    "Address",
    "Answer",
    "Attachment",
    "AwaitedReply",
    "Begun",
    "Bus",
    "BusInfo",
    "BusStatus",
    "Code",
    "Conclusion",
    "ConnectionEvent",
    "ConnectionInfo",
    "Declaration",
    "Delegate",
    "DelegateInfo",
    "Delivery",
    "DepartedInfo",
    "Disconnected",
    "Ending",
    "Explanation",
    "Failure",
    "FailurePolicy",
    "Hold",
    "HoldInfo",
    "Interrupted",
    "Lost",
    "MemberInfo",
    "MissingObserver",
    "Mode",
    "Notification",
    "ObjectInfo",
    "Observation",
    "ObservationInfo",
    "Outcome",
    "OutcomeKind",
    "Peer",
    "PolicyDecision",
    "PolicyLine",
    "Progress",
    "ProtocolInfo",
    "QueryReply",
    "Question",
    "Reconnected",
    "RetainedInfo",
    "Stage",
    "Style",
    "Subscription",
    "Suspension",
    "Traffic",
    "TrafficMonitor",
    "TribuneError",
    "Units",
    "UserInfo",
    "Value",
    "Verdict",
    "Veto",
    "Vetoed",
    "connect",
]
