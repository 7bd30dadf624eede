# SPDX-License-Identifier: Apache-2.0
"""The page, in a real browser.

With TRIBUNE_PICTURES=FOLDER, the test saves pictures there.
"""

import asyncio
import os
import signal
import time
from itertools import pairwise
from pathlib import Path

import pytest

from clients import ask, ask_many
from support import Browser, Bus, Web

READY = "document.getElementById('state').textContent.startsWith('Bus ')"
HAS_TEXT = "document.getElementById('verdict-list').textContent.includes(values[0]) && Date.now()"


def open_page(browser: Browser, web: Web) -> None:
    browser.open(f"http://127.0.0.1:{web.port}/")
    browser.wait(READY)


def test_a_veto_is_on_the_page_within_a_second(bus: Bus, web: Web, browser: Browser) -> None:
    open_page(browser, web)
    reason = "backup at 40 % <b>&amp;</b>"
    with bus.staying("hold", "host.shouldReboot", "--label=backup", f"--why={reason}"):
        browser.wait("document.getElementById('holds').textContent.includes(values[0])", reason)
        assert bus.tribunectl("ask", "host.shouldReboot", "--object=vm/1").returncode == 1
        told = time.time()
        seen = browser.wait(HAS_TEXT, reason) / 1000
    assert seen < told + 1
    item = browser.run("return document.querySelector('#verdict-list li.vetoed').textContent")
    for part in ("vetoed", "host.shouldReboot", "vm/1", "asked by tribunectl", f"held by backup: {reason}", "pid "):
        assert part in item
    assert browser.run("return document.querySelectorAll('#verdict-list b').length") == 1
    assert browser.console() == []


def test_the_page_goes_on_when_the_bus_was_killed(bus: Bus, web: Web, browser: Browser) -> None:
    open_page(browser, web)
    bus.tribunectl("ask", "one.shouldRun")
    browser.wait(HAS_TEXT, "one.shouldRun")
    bus.kill()
    browser.wait("document.getElementById('state').textContent.startsWith('The bus is away: ')")
    bus.start()
    browser.wait(READY)
    bus.tribunectl("ask", "two.shouldRun")
    browser.wait(HAS_TEXT, "two.shouldRun")
    assert browser.run("return document.querySelectorAll('#verdict-list > li').length") == 2


def test_the_page_goes_on_when_tribune_web_was_restarted(bus: Bus, tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first = Web(tmp_path / "one", bus.address)
    first.wait_for_log("connected to the bus")
    open_page(browser, first)
    first.stop()
    browser.wait("document.getElementById('state').textContent.includes('does not answer')")
    second = Web(tmp_path / "two", bus.address, port=first.port)
    browser.wait(READY)
    second.stop()


def test_a_query_under_way_says_whom_it_waits_for(bus: Bus, web: Web, browser: Browser) -> None:
    open_page(browser, web)
    queries = "document.getElementById('queries').textContent"
    with bus.staying("delegate", "a.shouldRun", "--label=slow", "--approve", "--timeout=60s") as delegate:
        browser.wait("document.getElementById('delegates').textContent.includes('slow')")
        delegate.send_signal(signal.SIGSTOP)
        with bus.started("ask", "a.shouldRun", "--object=object/1", "--timeout=60s") as asking:
            browser.wait(f"{queries}.includes('slow') && {queries}.includes('object/1')")
            assert f"slow (pid {delegate.pid})" in browser.run(f"return {queries}")
            delegate.send_signal(signal.SIGCONT)
            browser.wait(HAS_TEXT, "object/1")
            browser.wait(f"{queries} === 'None.'")
            assert asking.wait(60) == 0


def test_a_query_that_waits_for_many_says_for_how_many(bus: Bus, web: Web, browser: Browser) -> None:
    open_page(browser, web)

    async def look() -> None:
        is_over = asyncio.Event()
        asking = asyncio.create_task(ask_many(bus.address, 20, is_over))
        condition = "/delegate 15 [(]pid [0-9]+[)], and 4 more/.test(document.getElementById('queries').textContent)"
        await asyncio.to_thread(browser.wait, condition)
        is_over.set()
        assert await asking

    asyncio.run(look())


@pytest.mark.parametrize("part", ["label", "why"])
def test_what_a_process_says_turns_nothing_beside_it_around(bus: Bus, web: Web, browser: Browser, part: str) -> None:
    said = {"label": "label", "why": "why"} | {part: "\u202efirst"}
    with bus.staying("hold", "host.shouldReboot", f"--label={said['label']}", f"--why={said['why']}"):
        open_page(browser, web)
        bus.tribunectl("ask", "host.shouldReboot")
        browser.wait(HAS_TEXT, r"\u{202e}first")
        places = browser.run(
            """
            const range = document.createRange();
            range.selectNodeContents(document.querySelector("#verdict-list li li .faint"));
            const label = document.querySelector("#verdict-list li li b").getBoundingClientRect();
            return [label.right, range.getBoundingClientRect().left];
            """
        )
    assert places[0] < places[1]


def test_search_filters_everything(bus: Bus, web: Web, browser: Browser) -> None:
    items = "[...document.querySelectorAll('#verdict-list > li:not([hidden])')]"
    shown = f"return {items}.map((item) => item.textContent).join()"
    with (
        bus.staying("hold", "box.shouldReboot", "--label=backup", "--why=backup at 40 %"),
        bus.staying("delegate", "archive.shouldPrune", "--label=restore", "--approve"),
    ):
        open_page(browser, web)
        bus.tribunectl("ask", "box.shouldReboot")
        bus.tribunectl("ask", "archive.shouldPrune", "--object=archive/photos")
        browser.wait(HAS_TEXT, "archive/photos")
        browser.wait("document.getElementById('delegates').textContent.includes('restore')")
        browser.press("/")
        assert browser.run("return document.activeElement.id") == "search"
        browser.press("PHOTOS")
        assert "archive/photos" in browser.run(shown)
        assert "box.shouldReboot" not in browser.run(shown)
        assert browser.run("return document.getElementById('holds').textContent") == "None that match."
        assert browser.run("return document.getElementById('verdict-note').textContent") == "1 of 2 shown"
        browser.press("\ue00c")
        assert "box.shouldReboot" in browser.run(shown)
        browser.run("document.activeElement.blur()")
        browser.press("v")
        assert "archive/photos" not in browser.run(shown)
        assert "held by backup" in browser.run(shown)
        assert browser.run("return document.getElementById('vetoes').getAttribute('aria-pressed')") == "true"
        browser.press("vp")
        bus.tribunectl("ask", "late.shouldRun")
        browser.wait("document.getElementById('verdict-note').textContent.includes('1 waiting')")
        browser.press("p")
        browser.wait(HAS_TEXT, "late.shouldRun")
        browser.press("/v")
        assert browser.run("return document.getElementById('search').value") == "v"


def test_payloads_are_shown_only_if_configured(bus: Bus, start, browser: Browser) -> None:
    open_page(browser, start())
    bus.tribunectl("ask", "a.shouldRun", '{"secret":42}')
    browser.wait(HAS_TEXT, "a.shouldRun")
    assert "secret" not in browser.run("return document.body.textContent")


def test_payloads_that_are_configured_are_shown(bus: Bus, start, browser: Browser) -> None:
    open_page(browser, start("[Web]\nShowUserInfo=yes\n"))
    bus.tribunectl("ask", "a.shouldRun", '{"secret":42}')
    browser.wait(HAS_TEXT, '{"secret":42}')


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_it_can_be_read_in_both_schemes_and_on_a_phone(
    bus: Bus, web: Web, browser: Browser, scheme: str, width: int, request: pytest.FixtureRequest
) -> None:
    browser.scheme(scheme)
    browser.size(width, 1500)
    with (
        bus.staying("hold", "host.shouldReboot", "--label=backup", "--why=backup at 40 %, done at 03:10"),
        bus.staying("hold", "unit.shouldStop", "--object=unit/postgresql.service", "--label=db", "--why=catching up"),
        bus.staying("delegate", "archive.shouldPrune", "--label=restore", "--veto=photos are being restored"),
        bus.staying("delegate", "archive.shouldPrune", "--label=quota", "--order=10", "--approve"),
    ):
        open_page(browser, web)
        browser.wait("document.getElementById('delegates').textContent.includes('restore')")
        bus.tribunectl("ask", "archive.shouldPrune", "--object=archive/music", "--mode=all")
        bus.tribunectl("ask", "host.shouldPowerOff")
        bus.tribunectl("ask", "host.shouldReboot")
        # The hold also queries host.enforcement, at a time of its choice.
        browser.wait(HAS_TEXT, "host.shouldReboot")
        assert browser.run("return document.documentElement.scrollWidth") <= width
        # Text contrast (WCAG AA).
        poor = browser.run(CONTRAST)
        assert poor == []
        if folder := os.environ.get("TRIBUNE_PICTURES"):
            browser.wait("document.querySelectorAll('#plots polyline').length > 3")
            name = "phone" if width == 400 else "page"
            browser.picture(Path(folder) / f"web-{name}-{scheme}.png")
    assert browser.console() == []


CONTRAST = """
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const color = parse(getComputedStyle(element).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const poor = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!hasText || element.closest("svg, noscript") || !element.checkVisibility()) continue;
    const [one, other] = [luminance(parse(getComputedStyle(element).color)), luminance(behind(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) poor.add(`${element.tagName}.${element.className}: ${ratio.toFixed(2)}`);
  }
  return [...poor];
"""


def test_a_screen_reader_finds_its_way(bus: Bus, web: Web, browser: Browser) -> None:
    open_page(browser, web)
    bus.tribunectl("ask", "a.shouldRun")
    browser.wait(HAS_TEXT, "a.shouldRun")
    browser.wait("document.querySelector('#connections table') !== null")
    nodes = browser.cdp("Accessibility.getFullAXTree")["nodes"]
    roles = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]}
    for role, name in [
        ("main", ""),
        ("banner", ""),
        ("search", ""),
        ("searchbox", "Search"),
        ("status", ""),
        ("log", "Verdicts"),
        ("region", "Now"),
        ("region", "Holds"),
        ("region", "Connections"),
        ("button", "Vetoes only"),
    ]:
        assert (role, name) in roles, f"{role} {name}"
    assert {("table", "1 connections"), ("table", "2 connections")} & roles
    images = [name for role, name in roles if role == "image" and name]
    assert any(name.startswith("Queries in the last hour. asked: latest") for name in images)
    assert browser.run("return document.getElementById('verdict-list').ariaLive") == "polite"
    browser.press("\ue004\ue004")
    assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_day_of_verdicts_takes_no_memory(bus: Bus, web: Web, browser: Browser) -> None:
    day = 43_200
    open_page(browser, web)

    def sizes() -> tuple[int, float, int]:
        browser.cdp("HeapProfiler.collectGarbage")
        metrics = {metric["name"]: metric["value"] for metric in browser.cdp("Performance.getMetrics")["metrics"]}
        return web.private_kilobytes(), metrics["JSHeapUsedSize"], int(metrics["Nodes"])

    browser.cdp("Performance.enable")
    with bus.staying("hold", "a.shouldRun", "--label=backup", "--why=" + "backup at 40 % " * 10):
        asyncio.run(ask(bus.address, day // 10))
        seen = [sizes()]
        for part in range(4):
            asyncio.run(ask(bus.address, day // 4))
            bus.tribunectl("ask", "a.shouldRun", f"--object=the/last/{part}")
            browser.wait(HAS_TEXT, f"the/last/{part}")
            seen.append(sizes())
    assert browser.run("return document.querySelectorAll('#verdict-list > li').length") == 500
    # The allocator may keep one peak. A leak grows in each part.
    for growth, most in zip(zip(*seen, strict=True), (300, 250_000, 500), strict=True):
        assert min(later - earlier for earlier, later in pairwise(growth)) < most, seen
