// SPDX-License-Identifier: Apache-2.0

// Shows what the event stream says. All that comes from the bus is set as text. What is kept is bounded: the latest of each
// section, and the latest verdicts.

import { plot } from "./plot.js";

const verdictsMax = 500;
const get = (id) => document.getElementById(id);

const sections = {};
const verdicts = [];
let waiting = [];
let missed = 0;
let query = "";
let showsVetoesAlone = false;
let isPaused = false;
let isOpen = false;

// MARK: Making elements

function make(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

const code = (text) => make("code", "", text);
/** What a process says of itself. It must not turn around the text beside it, or have invisible characters. */
const said = (text) =>
  make("bdi", "", String(text).replace(/(?![\n\p{VS}])[\p{Cc}\p{DI}\u2028\u2029]/gu, (invisible) => `\\u{${invisible.codePointAt(0).toString(16)}}`));
/** A list within a line. */
const joined = (parts) => parts.flatMap((part, at) => (at > 0 ? [", ", part] : [part]));

function span(seconds) {
  if (seconds === null) return "";
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toPrecision(seconds < 0.01 ? 2 : 3)} ms`;
  if (seconds < 120) return `${Number(seconds.toPrecision(3))} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

function bytes(count) {
  for (const unit of ["B", "KiB", "MiB"]) {
    if (count < 1024) return `${Math.round(count)} ${unit}`;
    count /= 1024;
  }
  return `${count.toFixed(1)} GiB`;
}

function moment(seconds) {
  const made = make("time", "", new Date(seconds * 1000).toLocaleTimeString());
  made.dateTime = new Date(seconds * 1000).toISOString();
  made.title = new Date(seconds * 1000).toLocaleString();
  return made;
}

function person(who) {
  const facts = [
    who.unit,
    who.pid !== null ? `pid ${who.pid}` : "",
    who.uid !== null ? `uid ${who.uid}` : "",
    who.process ? who.connection : "",
  ].filter((fact) => fact);
  return make(
    "span", "", said(who.process || who.connection), make("span", "faint", facts.length > 0 ? ` (${facts.join(", ")})` : ""),
  );
}

const personText = (who) => [who.process, who.unit, who.connection].join(" ");

// MARK: Search

const matches = (text) => text.toLowerCase().includes(query);

function verdictText(record) {
  const people = record.outcomes.map((outcome) => `${outcome.label} ${outcome.process} ${outcome.unit} ${outcome.reason}`);
  return [record.name, record.object, record.verdict, personText(record.asker), ...people].join(" ").toLowerCase();
}

const isShown = (entry) => (!showsVetoesAlone || entry.isVeto) && entry.text.includes(query);

function applySearch() {
  for (const entry of verdicts) entry.element.hidden = !isShown(entry);
  showVerdictNote();
  for (const name of Object.keys(renderers)) render(name);
}

// MARK: Verdicts

function outcomeElement(outcome) {
  const words = { timedOut: "timed out", held: "held", gone: "gone", failed: "failed" };
  const who = outcome.label || outcome.process || "a delegate that is missing";
  const facts = [
    outcome.process ? said(outcome.process) : "", outcome.unit, outcome.pid ? `pid ${outcome.pid}` : "", span(outcome.elapsed),
  ];
  return make(
    "li",
    "",
    make("span", `outcome ${outcome.outcome}`, words[outcome.outcome] ?? outcome.outcome),
    " by ",
    make("b", "", said(who)),
    ...(outcome.reason ? [": ", said(outcome.reason)] : []),
    ...("value" in outcome ? [": ", said(outcome.value)] : []),
    make("span", "faint", " (", ...joined(facts.filter((fact) => fact)), ")"),
  );
}

function verdictElement(record) {
  const notes = [
    record.unanswered ? "nobody decided" : "",
    record.overridden ? make("span", "", "overridden: ", said(record.override ?? "")) : "",
    record.dryRun ? "dry run" : "",
  ].filter((note) => note);
  const head = make(
    "p",
    "",
    moment(record.time / 1000),
    " ",
    make("span", "verdict", record.verdict),
    " ",
    code(record.name || "a question from before this page"),
    record.object ? " " : "",
    record.object ? code(record.object) : "",
    " asked by ",
    person(record.asker),
    make("span", "faint", record.elapsed === null ? "" : ` in ${span(record.elapsed)}`),
    ...(notes.length > 0 ? [" — ", ...joined(notes)] : []),
  );
  const item = make("li", record.verdict, head);
  if ("userInfo" in record) item.append(make("p", "faint", code(record.userInfo)));
  if (record.outcomes.length > 0) item.append(make("ul", "", ...record.outcomes.map(outcomeElement)));
  if (record.omitted > 0) item.append(make("p", "faint", `and ${record.omitted} more outcomes`));
  return item;
}

function addVerdict(record, isNew) {
  const element = verdictElement(record);
  const entry = { element, text: verdictText(record), isVeto: record.verdict === "vetoed" };
  element.hidden = !isShown(entry);
  if (isNew) element.classList.add("new");
  verdicts.push(entry);
  get("verdict-list").prepend(element);
  while (verdicts.length > verdictsMax) verdicts.shift().element.remove();
}

function takeVerdict(record) {
  if (isPaused) {
    waiting.push(record);
    if (waiting.length > verdictsMax) {
      waiting.shift();
      missed += 1;
    }
  } else {
    addVerdict(record, get("verdict-list").ariaLive === "polite");
  }
  showVerdictNote();
}

function showVerdictNote() {
  const shown = verdicts.filter((entry) => !entry.element.hidden).length;
  const notes = [
    verdicts.length > 0 ? `${shown} of ${verdicts.length} shown` : "",
    waiting.length > 0 ? `${waiting.length} waiting` : "",
    missed > 0 ? `${missed} left out` : "",
  ];
  get("verdict-note").textContent = notes.filter((note) => note).join(", ");
  get("verdict-none").hidden = verdicts.length > 0;
}

function clearVerdicts() {
  verdicts.length = 0;
  waiting = [];
  missed = 0;
  get("verdict-list").replaceChildren();
  // Only what comes from now on is news.
  get("verdict-list").ariaLive = "off";
  showVerdictNote();
}

// MARK: Tables

/** Columns are [label, make, isNumber]. */
function table(target, caption, columns, section, text) {
  const rows = section.rows.filter((row) => matches(text(row)));
  if (rows.length === 0) {
    target.replaceChildren(make("p", "none", section.rows.length === 0 ? "None." : "None that match."));
    return;
  }
  const head = make("tr", "", ...columns.map(([label, , isNumber]) => {
    const cell = make("th", isNumber ? "number" : "", label);
    cell.scope = "col";
    return cell;
  }));
  const body = rows.map((row) => make("tr", "", ...columns.map(([label, content, isNumber]) => {
    const cell = make("td", isNumber ? "number" : "", content(row));
    cell.dataset.label = label;
    return cell;
  })));
  const count = rows.length === section.rows.length ? `${rows.length}` : `${rows.length} of ${section.rows.length}`;
  const more = section.omitted > 0 ? `, and ${section.omitted} more that are not shown or searched` : "";
  target.replaceChildren(
    make("table", "", make("caption", "", `${count} ${caption}${more}`), make("thead", "", head), make("tbody", "", ...body)),
  );
}

const age = (seconds) => span(Math.max(0, Math.round(Date.now() / 1000 - seconds)));

function waitsElement(query) {
  const waits = query.waits.map((who) =>
    make("span", "", said(who.label || who.process), make("span", "faint", ` (pid ${who.pid}${who.queued ? ", has others first" : ""})`)),
  );
  if (query.waitsOmitted > 0) waits.push(`and ${query.waitsOmitted} more`);
  return make("span", "", ...joined(waits));
}

const renderers = {
  bus(bus) {
    const state = get("state");
    state.classList.toggle("away", !isOpen || !bus.connected);
    if (!isOpen) state.textContent = "tribune-web does not answer; trying again";
    else if (!bus.connected) state.textContent = `The bus is away: ${bus.absence}`;
    else state.textContent = `Bus ${bus.software} at ${bus.address}, up and counting for ${age(bus.started)}`;
    const tiles = bus.connected
      ? [
          ["connections", bus.connections], ["delegates", bus.delegates], ["holds", bus.holds],
          ["actions under way", bus.actions],
          ["queries under way", bus.queries], ["observations", bus.observations], ["asked", bus.asked],
          ["vetoed", bus.vetoed], ["posted", bus.posted], ["delivered", bus.delivered], ["lost", bus.lost],
          ["denied", bus.denied],
        ]
      : [];
    get("tiles").replaceChildren(...tiles.map(([label, value]) =>
      make("div", "", make("dt", "", label), make("dd", "", value.toLocaleString())),
    ));
    const gaps = [...bus.gaps];
    if (bus.verdictsLost > 0) gaps.push(`${bus.verdictsLost} frames were missed, because there were too many`);
    get("gaps").replaceChildren(...gaps.map((gap) => make("li", "", gap)));
  },
  queries(queries) {
    table(
      get("queries"), "under way",
      [
        ["name", (row) => code(row.name)],
        ["object", (row) => (row.object ? code(row.object) : "")],
        ["asker", (row) => person(row.asker)],
        ["for", (row) => age(row.since), true],
        ["at most until", (row) => moment(row.until)],
        ["waits for", (row) => waitsElement(row)],
      ],
      queries, (row) => [row.name, row.object, personText(row.asker), ...row.waits.map((who) => `${who.label} ${who.unit}`)].join(" "),
    );
  },
  holds(holds) {
    table(
      get("holds"), "holds",
      [
        ["holder", (row) => row.label || row.who.process],
        ["why", (row) => row.why],
        ["holds", (row) => code(row.pattern)],
        ["object", (row) => (row.object ? code(row.object) : "any")],
        ["process", (row) => person(row.who)],
        ["for", (row) => age(row.since), true],
        ["until", (row) => (row.until === null ? "released" : moment(row.until))],
      ],
      holds, (row) => [row.label, row.why, row.pattern, row.object, personText(row.who)].join(" "),
    );
  },
  delegates(delegates) {
    table(
      get("delegates"), "delegates",
      [
        ["object", (row) => (row.object ? code(row.object) : "any")],
        ["order", (row) => String(row.order), true],
        ["delegate", (row) => row.label || row.who.process],
        ["responds to", (row) => make("span", "", ...joined(row.patterns.map(code)))],
        ["failure is", (row) => row.onFailure],
        ["within", (row) => span(row.timeout), true],
        ["process", (row) => person(row.who)],
      ],
      delegates, (row) => [row.label, row.object, ...row.patterns, personText(row.who)].join(" "),
    );
  },
  connections(connections) {
    table(
      get("connections"), "connections",
      [
        ["connection", (row) => row.who.connection],
        ["process", (row) => person(row.who)],
        ["for", (row) => age(row.since), true],
        ["posted", (row) => row.posted.toLocaleString(), true],
        ["lost", (row) => row.lost.toLocaleString(), true],
        ["unread", (row) => bytes(row.queued + row.buffered), true],
        ["state", (row) => ["paused", "lossy", "suspended"].filter((state) => row[state]).join(", ")],
      ],
      connections, (row) => personText(row.who),
    );
  },
  history(history) {
    const rate = (value) => `${Number(value.toPrecision(2)).toLocaleString()}/s`;
    const common = { times: history.times, interval: history.interval };
    get("plots").replaceChildren(
      plot({
        ...common, title: "Queries", format: rate,
        series: [{ name: "asked", values: history.asked }, { name: "vetoed", values: history.vetoed }],
      }),
      plot({
        ...common, title: "Time to the verdict", format: span,
        series: [{ name: "median", values: history.median }, { name: "longest", values: history.longest }],
      }),
      plot({
        ...common, title: "Notifications", format: rate,
        series: [
          { name: "posted", values: history.posted }, { name: "delivered", values: history.delivered },
          { name: "lost", values: history.lost },
        ],
      }),
    );
  },
};

function render(name) {
  if (name in sections) renderers[name](sections[name]);
}

// MARK: Events

function follow() {
  const events = new EventSource("events");
  events.addEventListener("hello", () => {
    isOpen = true;
    clearVerdicts();
  });
  events.addEventListener("verdict", (event) => takeVerdict(JSON.parse(event.data)));
  events.addEventListener("missed", (event) => {
    missed += Number(event.data);
    showVerdictNote();
  });
  for (const name of Object.keys(renderers)) {
    events.addEventListener(name, (event) => {
      sections[name] = JSON.parse(event.data);
      render(name);
      // The sections come behind the verdicts that there were.
      get("verdict-list").ariaLive = "polite";
    });
  }
  events.addEventListener("error", () => {
    isOpen = false;
    if (!("bus" in sections)) get("state").textContent = "tribune-web does not answer; trying again";
    render("bus");
    // A browser gives up after some answers, as while too many pages are open.
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, 3000);
  });
}

// MARK: Keys and buttons

function press(button, isPressed) {
  button.setAttribute("aria-pressed", String(isPressed));
}

function toggleVetoes() {
  showsVetoesAlone = !showsVetoesAlone;
  press(get("vetoes"), showsVetoesAlone);
  applySearch();
}

function togglePause() {
  isPaused = !isPaused;
  press(get("pause"), isPaused);
  if (!isPaused) {
    const late = waiting;
    waiting = [];
    for (const record of late) addVerdict(record, true);
  }
  showVerdictNote();
}

get("vetoes").addEventListener("click", toggleVetoes);
get("pause").addEventListener("click", togglePause);
get("search").addEventListener("input", () => {
  query = get("search").value.trim().toLowerCase();
  applySearch();
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Escape") {
    get("search").value = "";
    query = "";
    applySearch();
    return;
  }
  if (event.target instanceof HTMLInputElement) return;
  if (event.key === "/") {
    event.preventDefault();
    get("search").focus();
  } else if (event.key === "v") {
    toggleVetoes();
  } else if (event.key === "p") {
    togglePause();
  }
});
// Ages go on, also where nothing changes.
setInterval(() => {
  for (const name of ["bus", "queries", "holds", "connections"]) render(name);
}, 15_000);

follow();
