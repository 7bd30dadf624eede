# SPDX-License-Identifier: Apache-2.0
"""Metrics for Prometheus, and the health of the service."""

import asyncio
import contextlib
import json
import re
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from clients import ask_awkward_delegates
from support import DEADLINE, REPOSITORY, Bus, Events, Web, program, wait_for_line


def sample(text: str, name: str) -> float:
    return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)[1])


def test_promtool_has_nothing_to_say(bus: Bus, web: Web) -> None:
    bus.tribunectl("ask", "host.shouldReboot")
    text = web.get("/metrics").text
    check = subprocess.run([program("promtool"), "check", "metrics"], input=text, capture_output=True, text=True)
    assert (check.returncode, check.stdout, check.stderr) == (0, "", "")


def test_labels_that_are_awkward_are_read_by_prometheus(bus: Bus, start: Callable[[], Web]) -> None:
    asyncio.run(ask_awkward_delegates(bus.address, 3))
    web = start()
    with contextlib.closing(Events(web)) as page:
        page.until("connections", lambda connections: connections["rows"])
    text = web.get("/metrics").text
    assert text.count('tribune_participant_duration_seconds_count{role="delegate",label="') == 3
    check = subprocess.run([program("promtool"), "check", "metrics"], input=text, capture_output=True, text=True)
    assert (check.returncode, check.stdout, check.stderr) == (0, "", "")


def test_the_rules_of_the_examples_do_what_they_say() -> None:
    folder = REPOSITORY / "Examples/prometheus"
    for arguments in (["check", "rules", "tribune.rules.yml"], ["test", "rules", "tribune.test.yml"]):
        check = subprocess.run([program("promtool"), *arguments], cwd=folder, capture_output=True, text=True)
        assert check.returncode == 0, check.stdout + check.stderr


def test_what_documents_and_rules_name_is_there(bus: Bus, start: Callable[[], Web]) -> None:
    with (
        bus.staying("delegate", "a.shouldRun", "--label=one", "--approve"),
        bus.staying("hold", "b.shouldRun", "--why=reason"),
    ):
        assert bus.tribunectl("ask", "a.shouldRun").returncode == 0
        web = start()
        events = Events(web)
        events.until("delegates", lambda delegates: delegates["rows"])
        text = web.get("/metrics").text
    page = (REPOSITORY / "docs/WEB.md").read_text()
    rules = (REPOSITORY / "Examples/prometheus/tribune.rules.yml").read_text()
    there = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"^(tribune_\w+)", text, re.M)}
    documented = set(re.findall(r"`(tribune_[a-z_]+)(?:{[a-z,]+})?`", page))
    assert documented == there
    dashboard = (REPOSITORY / "Examples/prometheus/dashboard.json").read_text()
    for name in re.findall(r"\b(tribune_[a-z_]+)", rules + dashboard):
        assert re.sub("_(bucket|sum|count)$", "", name) in there


def test_openmetrics_is_for_those_who_ask_for_it(web: Web) -> None:
    classic = web.get("/metrics")
    assert classic.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "# EOF" not in classic.text
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    open_metrics = web.get("/metrics", Accept=accept)
    assert open_metrics.headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert open_metrics.text.endswith("\n# EOF\n")
    assert "# TYPE tribune_notifications_posted counter\n" in open_metrics.text
    assert "# TYPE tribune_notifications_posted_total counter\n" in classic.text
    for name, unit in re.findall(r"^# UNIT (\S+) (\S+)$", open_metrics.text, re.M):
        assert name.endswith(f"_{unit}")


def test_counters_count(bus: Bus, web: Web) -> None:
    events = Events(web)
    with bus.staying("hold", "box.shouldReboot", "--why=backup at 40 %"):
        # A dry run is not load.
        assert bus.tribunectl("ask", "box.shouldReboot", "--dry-run").returncode == 1
        assert bus.tribunectl("ask", "box.shouldReboot").returncode == 1
        assert bus.tribunectl("ask", "box.shouldPowerOff").returncode == 0
        bus.tribunectl("post", "a.b")
        events.until("bus", lambda now: now["asked"] == 2 and now["posted"] == 1 and now["holds"] == 1)
        text = web.get("/metrics").text
    assert sample(text, "tribune_up") == 1
    assert sample(text, "tribune_queries_asked_total") == 2
    assert sample(text, "tribune_queries_vetoed_total") == 1
    assert sample(text, "tribune_notifications_posted_total") == 1
    assert sample(text, "tribune_holds") == 1
    assert sample(text, "tribune_actions") == 0
    assert sample(text, "tribune_web_verdicts_total") == 2
    assert sample(text, "tribune_web_verdict_duration_seconds_count") == 2
    events.close()


def test_whoever_asks_makes_no_more_time_series_than_configured(bus: Bus, start: Callable[[], Web]) -> None:
    with bus.staying("delegate", "*.shouldRun", "--approve"):
        for number in range(5):
            for _ in range(5 - number):
                bus.tribunectl("ask", f"name{number}.shouldRun")
    web = start("[Web]\nMetricNamesMax=2\n")
    events = Events(web)
    events.until("connections", lambda connections: connections["rows"])
    accept = "application/openmetrics-text;version=1.0.0"
    text = web.get("/metrics", Accept=accept).text
    verdicts = re.findall(r'^tribune_query_verdicts_total{name="(.*?)",verdict="allowed"} (.*)$', text, re.M)
    assert verdicts == [("name0.shouldRun", "5.0"), ("name1.shouldRun", "4.0"), ("(other)", "6.0")]
    assert 'tribune_query_duration_seconds_count{name="(other)"} 6.0\n' in text
    assert 'tribune_query_duration_seconds_bucket{name="(other)",le="+Inf"} 6.0\n' in text
    assert re.search(r'^tribune_user_queries_asked_total{uid="\d+",unit="[^"]*"} 15.0$', text, re.M)
    events.close()


def test_a_bus_that_is_away_is_said_to_be(bus: Bus, web: Web) -> None:
    events = Events(web)
    events.until("bus", lambda now: now["connected"])
    assert (web.get("/healthz").status, web.get("/healthz").text) == (200, "ok\n")
    bus.kill()
    events.until("bus", lambda now: not now["connected"])
    assert web.get("/healthz").status == 503
    text = web.get("/metrics").text
    assert sample(text, "tribune_up") == 0
    assert "tribune_connections" not in text
    bus.start()
    events.until("bus", lambda now: now["connected"])
    assert web.get("/healthz").status == 200
    assert sample(web.get("/metrics").text, "tribune_web_bus_losses_total") == 1
    events.close()


def posted(web: Web) -> float:
    return sample(web.get("/metrics").text, "tribune_notifications_posted_total")


@pytest.mark.keeper
def test_counters_begin_anew_with_each_daemon(bus: Bus, web: Web) -> None:
    with contextlib.closing(Events(web)) as page:
        for _ in range(5):
            bus.tribunectl("post", "a.b")
        before = page.until("bus", lambda now: now["posted"] == 5)
        bus.kill()
        bus.start()
        after = page.until("bus", lambda now: now["connected"] and now["pid"] != before["pid"])
        assert after["posted"] == 0
        bus.tribunectl("post", "a.b")
        page.until("bus", lambda now: now["posted"] == 1)
    assert posted(web) == 1


def test_a_bus_that_hangs_is_said_to_be_away(bus: Bus, web: Web) -> None:
    with contextlib.closing(Events(web)) as page:
        page.until("bus", lambda now: now["connected"])
        bus.process.send_signal(signal.SIGSTOP)
        assert page.until("bus", lambda now: not now["connected"])["absence"] == "it does not answer"
        assert web.get("/healthz").status == 503
        assert sample(web.get("/metrics").text, "tribune_up") == 0
        bus.process.send_signal(signal.SIGCONT)
        page.until("bus", lambda now: now["connected"])
        assert web.get("/healthz").status == 200
        # A slow answer must not delay the next scrape.
        began = time.monotonic()
        bus.tribunectl("post", "a.b")
        page.until("bus", lambda now: now["posted"] == 1)
        assert time.monotonic() - began < DEADLINE
    assert sample(web.get("/metrics").text, "tribune_web_bus_losses_total") == 0


def test_prometheus_scrapes_it(bus: Bus, web: Web, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "prometheus.yml").write_text(
        f"""
        global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}
        scrape_configs:
          - job_name: tribune
            static_configs: [{{targets: ["127.0.0.1:{web.port}"]}}]
        """
    )
    with subprocess.Popen(
        [
            program("prometheus"),
            f"--config.file={tmp_path}/prometheus.yml",
            f"--storage.tsdb.path={tmp_path}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stderr=subprocess.PIPE,
        text=True,
    ) as prometheus:
        try:
            wait_for_line(prometheus.stderr, "Server is ready to receive web requests")
            bus.tribunectl("ask", "host.shouldReboot")

            def query(expression: str) -> list:
                address = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(expression)}"
                with urllib.request.urlopen(address, timeout=DEADLINE) as answer:
                    return json.load(answer)["data"]["result"]

            deadline = time.monotonic() + DEADLINE
            while not query("tribune_queries_asked_total == 1") and time.monotonic() < deadline:
                pass
            assert [found["value"][1] for found in query("tribune_queries_asked_total")] == ["1"]
            assert query('up{job="tribune"}')[0]["value"][1] == "1"
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/targets", timeout=DEADLINE) as answer:
                target = json.load(answer)["data"]["activeTargets"][0]
            assert (target["health"], target["lastError"]) == ("up", "")
            address = f"http://127.0.0.1:{port}/api/v1/metadata?metric=tribune_web_verdict_duration_seconds"
            with urllib.request.urlopen(address, timeout=DEADLINE) as answer:
                facts = json.load(answer)["data"]["tribune_web_verdict_duration_seconds"][0]
            assert (facts["type"], facts["unit"]) == ("histogram", "seconds")
        finally:
            prometheus.terminate()
