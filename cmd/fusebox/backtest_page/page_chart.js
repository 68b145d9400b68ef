"use strict";
// The timelines of a circuit: the share of answers by kind, and what its rules compared with their thresholds.

const data = JSON.parse(document.getElementById("data").textContent);
const names = data.sides;
const sideColours = ["--a", "--b"];
const shades = ["--shade", "--shade-b"];
const strip = 14; // Height of the row that shows when a policy had the circuit open.

// times returns where the buckets of a timeline begin, and where the last one ends.
function times(line) {
  const buckets = line.kinds.length ? line.kinds[0].counts.length : 0;
  return Array.from({ length: buckets + 1 }, (_, i) => line.from + i * line.width);
}

// shares returns for each kind what it and those below it make of each bucket, null where the bucket is empty.
function shares(line) {
  const buckets = line.kinds[0].counts.length;
  const totals = new Array(buckets).fill(0);
  for (const kind of line.kinds) kind.counts.forEach((n, i) => { totals[i] += n; });
  const below = new Array(buckets).fill(0);
  const stacked = line.kinds.map((kind) => {
    kind.counts.forEach((n, i) => { below[i] += n; });
    const row = below.map((n, i) => totals[i] ? n / totals[i] : null);
    return [...row, row[buckets - 1]];
  });
  return { stacked, totals };
}

// place returns where on the canvas a time is, not beyond the chart.
function placer(u) {
  const { left, width } = u.bbox;
  return (at) => Math.min(Math.max(u.valToPos(at, "x", true), left), left + width);
}

// shade fills the time for which the policies had the circuit open, each in its colour.
function shade(circuit, colours) {
  return (u) => {
    const x = placer(u);
    u.ctx.save();
    circuit.sides.forEach((side, i) => {
      u.ctx.fillStyle = css(colours[i]);
      for (const [from, to] of side.open) u.ctx.fillRect(x(from), u.bbox.top, Math.max(x(to) - x(from), 1), u.bbox.height);
    });
    u.ctx.restore();
  };
}

// known shades what is known to have been bad, between dashed lines.
function known(circuit) {
  return (u) => {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio || 1;
    const x = placer(u);
    ctx.save();
    ctx.fillStyle = ctx.strokeStyle = css("--known");
    ctx.lineWidth = 2 * ratio;
    ctx.setLineDash([6 * ratio, 4 * ratio]);
    for (const [from, to] of circuit.bad) {
      const left = x(from), width = Math.max(x(to) - left, ratio);
      ctx.globalAlpha = 0.22;
      ctx.fillRect(left, bbox.top, width, bbox.height);
      ctx.globalAlpha = 1;
      ctx.strokeRect(left, bbox.top, width, bbox.height);
    }
    ctx.restore();
  };
}

// openings draws above a chart, in a row for each policy, when it had the circuit open, and its trips.
function openings(circuit) {
  return (u) => {
    const { ctx } = u;
    const ratio = devicePixelRatio || 1;
    const x = placer(u);
    ctx.save();
    circuit.sides.forEach((side, i) => {
      const y = u.bbox.top - (6 + (circuit.sides.length - i) * strip) * ratio;
      ctx.fillStyle = ctx.strokeStyle = css(sideColours[i]);
      ctx.lineWidth = 1.5 * ratio;
      for (const [from, to] of side.open) ctx.fillRect(x(from), y + 4 * ratio, Math.max(x(to) - x(from), ratio), 5 * ratio);
      for (const trip of side.trips) {
        ctx.beginPath();
        ctx.moveTo(x(trip.at) - 5 * ratio, y + ratio);
        ctx.lineTo(x(trip.at) + 5 * ratio, y + ratio);
        ctx.lineTo(x(trip.at), y + 12 * ratio);
        ctx.closePath();
        trip.false ? ctx.stroke() : ctx.fill();
      }
      if (names[i]) {
        ctx.font = `600 ${11 * ratio}px system-ui, sans-serif`;
        ctx.textAlign = "right";
        ctx.fillText(names[i], u.bbox.left - 6 * ratio, y + 10 * ratio, u.bbox.left - 7 * ratio); // It has to fit.
      }
    });
    ctx.restore();
  };
}

// axes are those of a chart whose values are written so.
function axes(write) {
  const style = { stroke: css("--quiet"), grid: { stroke: css("--grid"), width: 1 }, ticks: { show: false } };
  return [{ ...style, space: 70, size: 34, values: clocks }, { ...style, size: 48, values: (u, values) => values.map(write) }];
}

// clocks writes the times of an axis, as exactly as they differ.
function clocks(u, ats, axis, space, step) {
  return ats.map((at, i) => {
    const text = clock(at);
    if (step >= 86400) return text.slice(5, 10);
    const time = step >= 60 ? text.slice(11, 16) : text.slice(11);
    const midnight = i > 0 && text.slice(0, 10) !== clock(ats[i - 1]).slice(0, 10);
    return midnight ? time + "\n" + text.slice(5, 10) : time;
  });
}

// isolated returns which values of a series have none beside them, of which a line would show nothing.
function isolated(u, series) {
  const values = u.data[series];
  return values.flatMap((v, i) => v !== null && values[i - 1] == null && values[i + 1] == null ? [i] : []);
}

// chart draws one chart and lets the box say what is under the pointer.
function chart(place, circuit, describe, hooks, options, values) {
  const width = place.parentElement.clientWidth;
  const u = new uPlot({
    width, padding: [circuit.sides.length * strip + 8, 26, 0, 0], legend: { show: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    cursor: { sync: { key: circuit.name }, points: { show: false }, drag: { x: true, y: false }, y: false },
    ...options,
    hooks,
  }, values, place);
  const last = values[0].length - 2; // The newest time is only where the last bucket ends.
  u.over.addEventListener("mousemove", (event) => {
    const at = u.posToVal(event.clientX - u.over.getBoundingClientRect().left, "x");
    const bucket = Math.min(Math.max(Math.floor((at - circuit.line.from) / circuit.line.width), 0), last);
    tip.show(describe(bucket), event.clientX, event.clientY);
  });
  u.over.addEventListener("mouseleave", () => tip.hide());
  return u;
}

// describe says what a bucket holds: answers by kind, rules against their thresholds, and trips with their causes.
function describer(circuit, totals) {
  const { line } = circuit;
  return (bucket) => {
    const from = line.from + bucket * line.width;
    const nodes = [element("p", clock(from) + ", " + totals[bucket] + " outcomes", "quiet")];
    const table = document.createElement("table");
    const add = (name, value) => {
      const row = table.insertRow();
      row.append(element("td", name), element("td", value));
    };
    for (const kind of line.kinds) {
      if (kind.counts[bucket]) add(kind.kind, kind.counts[bucket] + " (" + percent(kind.counts[bucket] / totals[bucket]) + ")");
    }
    circuit.sides.forEach((side, i) => {
      for (const rule of side.rules) {
        const value = rule.values[bucket];
        if (value !== null) add(label(i) + rule.rule, number(value) + ", threshold " + number(rule.threshold));
      }
      if (side.open.some(([a, b]) => a < from + line.width && b >= from)) add(label(i) + "open", "");
    });
    if (circuit.bad.some(([a, b]) => a < from + line.width && b > from)) add("known to be bad", "");
    nodes.push(table);
    const near = line.width * Math.max(1, Math.round(line.kinds[0].counts.length / 120));
    circuit.sides.forEach((side, i) => {
      for (const trip of side.trips) {
        if (trip.at >= from - near && trip.at < from + line.width + near) {
          nodes.push(element("p", label(i) + clock(trip.at) + (trip.false ? "  false trip: " : "  ") + trip.words, "trip"));
        }
      }
    });
    return nodes;
  };
}

function label(side) {
  return names[side] ? names[side] + ": " : "";
}

function key(place, name, colour) {
  const item = element("span", "");
  item.style.color = colour;
  item.append(element("i", name));
  place.append(item);
}

// answers draws the share of answers by kind.
function answers(section, circuit) {
  const { line } = circuit;
  const { stacked, totals } = shares(line);
  const seen = {};
  const series = line.kinds.map((kind) => {
    seen[kind.role] = (seen[kind.role] ?? -1) + 1;
    const colour = colourOf(kind.kind, kind.role, seen[kind.role]);
    key(section.querySelector(".key"), kind.kind, colour);
    return { fill: colour, stroke: colour, width: 0, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) };
  });
  const describe = describer(circuit, totals);
  const faded = circuit.sides.length > 1 ? [] : [shade(circuit, ["--faded"])]; // Two would not be told apart.
  const drawn = chart(section.querySelector(".answers"), circuit, describe, { draw: [...faded, known(circuit), openings(circuit)] }, {
    height: 200, axes: axes((v) => Math.round(v * 100) + " %"), scales: { y: { range: [0, 1] } },
    series: [{}, ...series.reverse()],
  }, [times(line), ...stacked.reverse()]);
  return { describe, drawn };
}

// keyOfOpen says what the rows above the answers mean.
function keyOfOpen(section, circuit) {
  circuit.sides.forEach((side, i) => {
    if (side.open.length) key(section.querySelector(".key"), label(i) + "open, ▼ trips" + (side.trips.some((t) => t.false) ? ", ▽ false trips" : ""), css(sideColours[i]));
  });
  if (circuit.bad.length) key(section.querySelector(".key"), "known to be bad", css("--known"));
}

// rules draws what the rules compared, as a share of their thresholds: at 1 they fire.
function rules(section, circuit, describe) {
  const lines = circuit.sides.flatMap((side, i) => side.rules.map((rule) => ({ ...rule, side: i })))
    .filter((rule) => rule.threshold > 0 && rule.values.some((v) => v !== null));
  if (!lines.length) return null;
  const ats = times(circuit.line);
  const values = lines.map((rule) => ats.map((_, i) => {
    const value = rule.values[Math.min(i, rule.values.length - 1)];
    return value === null || value === undefined ? null : value / rule.threshold;
  }));
  const highest = Math.max(1.2, ...values.flat().filter((v) => v !== null));
  const series = lines.map((rule, i) => {
    const colour = ruleColours[i % ruleColours.length];
    key(section.querySelector(".key"), label(rule.side) + rule.rule, colour);
    const points = { show: true, filter: isolated, size: 6, fill: colour };
    return { stroke: colour, width: 1.5, points, paths: uPlot.paths.stepped({ align: 1 }) };
  });
  key(section.querySelector(".key"), "threshold", css("--threshold"));
  return chart(section.querySelector(".rules"), circuit, describe, { drawClear: [shade(circuit, shades), known(circuit)] }, {
    height: 120, padding: [6, 26, 0, 0], axes: axes((v) => number(v) + " ×"), scales: { y: { range: [0, highest * 1.05] } },
    series: [{}, ...series, { stroke: css("--threshold"), width: 1, dash: [5, 4], points: { show: false } }],
  }, [ats, ...values, ats.map(() => 1)]);
}

let charts = [];

// draw draws all circuits anew, as when the page has another width or the night falls.
function draw() {
  for (const u of charts) u.destroy();
  charts = [];
  tip.hide();
  data.circuits.forEach((circuit, i) => {
    const section = document.getElementById("circuit-" + (i + 1));
    section.querySelector(".key").replaceChildren();
    if (!circuit.line.kinds.length) return;
    const { describe, drawn } = answers(section, circuit);
    keyOfOpen(section, circuit);
    const below = rules(section, circuit, describe);
    charts.push(drawn);
    if (below) charts.push(below);
  });
}

draw();
dark.addEventListener("change", draw);
let width = document.documentElement.clientWidth;
addEventListener("resize", () => {
  if (document.documentElement.clientWidth === width) return;
  width = document.documentElement.clientWidth;
  draw();
});
document.documentElement.dataset.drawn = charts.length;
