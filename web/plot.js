// SPDX-License-Identifier: Apache-2.0

// Plots as SVG. What is drawn is also said, for those who do not see it.

const space = "http://www.w3.org/2000/svg";
const width = 480;
const height = 170;
const margin = { left: 44, right: 8, top: 8, bottom: 20 };
const classes = ["one", "two", "three"];

function element(name, attributes, text) {
  const made = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// The next of 1, 2, 5, 10 … that is no less.
function ceiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= value * 0.999999);
}

// Pieces of a line: it is interrupted where there is nothing.
function pieces(points) {
  const all = [[]];
  for (const point of points) {
    if (point.y === null) all.push([]);
    else all[all.length - 1].push(point);
  }
  return all.filter((piece) => piece.length > 0);
}

/**
 * @param {{title: string, times: number[], interval: number, series: {name: string, values: (number|null)[]}[],
 *   format: (value: number) => string}} what
 * @returns {HTMLElement}
 */
export function plot({ title, times, interval, series, format }) {
  const end = times.length > 0 ? times[times.length - 1] + interval : 0;
  const start = end - 3600;
  const highest = ceiling(Math.max(0, ...series.flatMap(({ values }) => values.filter((value) => value !== null))));
  const x = (time) => margin.left + ((time - start) / 3600) * (width - margin.left - margin.right);
  const y = (value) => height - margin.bottom - (value / highest) * (height - margin.top - margin.bottom);

  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  caption.append(`${title}: `);
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  for (const share of [0, 0.5, 1]) {
    const line = y(highest * share);
    svg.append(
      element("line", { class: "axis", x1: margin.left, x2: width - margin.right, y1: line, y2: line }),
      element("text", { x: margin.left - 6, y: line + 4, "text-anchor": "end" }, format(highest * share)),
    );
  }
  for (const minutes of [60, 30, 0]) {
    const anchor = { 60: "start", 30: "middle", 0: "end" }[minutes];
    const text = minutes === 0 ? "now" : `${minutes} min ago`;
    svg.append(element("text", { x: x(end - minutes * 60), y: height - 4, "text-anchor": anchor }, text));
  }
  const spoken = [];
  series.forEach(({ name, values }, index) => {
    const points = times.map((time, at) => ({ x: x(time + interval / 2), y: values[at] === null ? null : y(values[at]) }));
    for (const piece of pieces(points)) {
      if (piece.length === 1) svg.append(element("circle", { class: classes[index], cx: piece[0].x, cy: piece[0].y, r: 1.5 }));
      const text = piece.map((point) => `${point.x.toFixed(1)},${point.y.toFixed(1)}`).join(" ");
      svg.append(element("polyline", { class: classes[index], points: text }));
    }
    const known = values.filter((value) => value !== null);
    const latest = known.length > 0 ? format(known[known.length - 1]) : "none";
    const top = known.length > 0 ? format(Math.max(...known)) : "none";
    const key = document.createElement("span");
    key.className = `key ${classes[index]}`;
    key.textContent = name;
    caption.append(index > 0 ? ", " : "", key, ` ${latest}`);
    spoken.push(`${name}: latest ${latest}, highest ${top}`);
  });
  svg.setAttribute("aria-label", `${title} in the last hour. ${spoken.join(". ")}.`);
  figure.append(svg, caption);
  return figure;
}
