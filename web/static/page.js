"use strict";
// The page draws what a snapshot says, and decides nothing. Text is always set
// as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const byID = (id) => document.getElementById(id);
const colour = (i) => `var(--c${i % 4})`;
const dash = "–";

// el makes an element with attributes and children.
function el(name, attrs = {}, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, v);
  e.append(...children);
  return e;
}
function svg(name, attrs = {}, text) {
  const e = document.createElementNS(SVG, name);
  for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}
// set changes a text only when it differs, so that screen readers and
// selections are left in peace.
function set(e, text) { if (e.textContent !== text) e.textContent = text; }
function paint(e, k) { e.style.setProperty("--k", k); return e; }

const known = (v) => v !== null && v !== undefined;
// pct never rounds a loss away.
function pct(v) {
  if (!known(v)) return dash;
  if (v < 100 && v > 99.9) v = 99.9;
  return v.toFixed(1) + " %";
}
const ms = (v) => (known(v) ? Math.round(v) + " ms" : dash);
const rps = (v) => (known(v) ? v.toFixed(1) : dash);
const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");

// ---- the chart -------------------------------------------------------------

const box = { w: 360, h: 168, left: 30, right: 352, top: 8, bottom: 146 };
const yOf = (p) => box.bottom - (p / 100) * (box.bottom - box.top);
const xOf = (s, total) => box.left + (Math.min(s, total) / total) * (box.right - box.left);

// line is a path through the windows' middles, with a gap where nothing is known.
function line(series, width, total) {
  let d = "", pen = "M";
  (series || []).forEach((v, i) => {
    if (!known(v)) { pen = "M"; return; }
    const from = i * width, to = Math.min(from + width, total);
    d += `${pen}${xOf((from + to) / 2, total).toFixed(1)} ${yOf(v).toFixed(1)}`;
    pen = "L";
  });
  return d;
}

// dots are open circles at the same places: a prediction that came true lies
// under the measured line, and must be seen all the same.
function dots(series, width, total) {
  let d = "";
  (series || []).forEach((v, i) => {
    if (!known(v)) return;
    const from = i * width, to = Math.min(from + width, total);
    d += `M${(xOf((from + to) / 2, total) - 2.3).toFixed(1)} ${yOf(v).toFixed(1)}a2.3 2.3 0 1 0 4.6 0a2.3 2.3 0 1 0 -4.6 0`;
  });
  return d;
}

function chart(snap) {
  const c = svg("svg", { class: "chart", viewBox: `0 0 ${box.w} ${box.h}`, role: "img" });
  for (const p of [0, 50, 100]) {
    c.append(svg("path", { class: "grid", d: `M${box.left} ${yOf(p)}H${box.right}` }));
    c.append(svg("text", { x: box.left - 5, y: yOf(p) + 3.5, "text-anchor": "end" }, String(p)));
  }
  const goal = snap.classes.find((k) => k.objective_pct > 0);
  if (goal) c.append(svg("path", { class: "goal", d: `M${box.left} ${yOf(goal.objective_pct)}H${box.right}` }));
  const paths = snap.classes.map((_, i) => {
    const kinds = { said: "said", got: "got", dot: "dot" };
    for (const k in kinds) kinds[k] = paint(svg("path", { class: kinds[k] }), colour(i));
    return kinds;
  });
  for (const p of [...paths].reverse()) c.append(p.said, p.got, p.dot);
  const ticks = [0, 1, 2].map((i) => {
    const t = svg("text", { x: xOf(i, 2), y: box.h - 6, "text-anchor": ["start", "middle", "end"][i] });
    c.append(t);
    return t;
  });
  return {
    node: c,
    draw(run) {
      const total = run.duration_s || Math.max(run.elapsed_s, 1);
      run.classes.forEach((k, i) => {
        paths[i].said.setAttribute("d", line(k.predicted, run.window_s, total));
        paths[i].dot.setAttribute("d", dots(k.predicted, run.window_s, total));
        paths[i].got.setAttribute("d", line(k.series, run.window_s, total));
      });
      ticks.forEach((t, i) => set(t, `${+((total * i) / 2).toFixed(1)} s`));
      c.setAttribute("aria-label", `Success in percent over ${total} seconds. ` + run.classes.map((k) =>
        `${k.name}: ${pct(k.success_pct)} measured, ${pct(k.predicted_pct)} predicted`).join("; ") + ".");
    },
  };
}

// ---- one run ---------------------------------------------------------------

// cells draws a bounded place as one cell for each call, or as shares when
// there are too many to draw.
function cells(holder, limit, most, filled) {
  const n = Math.min(Math.max(limit, 1), most), scale = n / Math.max(limit, 1);
  while (holder.children.length > n) holder.lastChild.remove();
  while (holder.children.length < n) holder.append(el("i"));
  const kinds = [];
  for (const f of filled) for (let i = Math.round(f.n * scale); i > 0; i--) kinds.push(f.k);
  [...holder.children].forEach((cell, i) => {
    cell.classList.toggle("on", i < kinds.length);
    if (i < kinds.length) paint(cell, kinds[i]);
  });
}

function card(snap, run) {
  const state = el("span", { class: "state" }), fill = el("i"), summary = el("p", { class: "summary" });
  const title = el("h2", { id: "run-" + run.id });
  const big = el("dl", { class: "big" });
  const classes = snap.classes.map((k, i) => {
    const value = el("span", { "data-success": `${run.id}/${k.name}` });
    const said = el("div", { class: "said" });
    const dd = el("dd", {}, value, said);
    big.append(paint(el("div", {}, el("dt", {}, k.name + " success"), dd), colour(i)));
    return { value, said };
  });
  const drawing = chart(snap);
  const used = el("b", { "data-used": run.id }), waiting = el("b", { "data-waiting": run.id });
  const slotCells = el("div", { class: "cells", "aria-hidden": "true" });
  const waitCells = el("div", { class: "cells", "aria-hidden": "true" });
  const total = el("b", { "data-refused": run.id });
  const reasons = el("ul", { class: "reasons" });
  const node = el("article", { class: "run", "aria-labelledby": "run-" + run.id },
    el("div", { class: "top" }, title, state), summary,
    el("div", { class: "bar", "aria-hidden": "true" }, fill), big, drawing.node,
    el("div", { class: "hold" },
      el("div", {}, el("h3", {}, "slots", used), slotCells),
      el("div", {}, el("h3", {}, "waiting", waiting), waitCells)),
    el("h3", {}, "refused", total), reasons);

  function refusals(run) {
    const by = new Map();
    let all = 0;
    for (const r of run.refused) {
      if (!by.has(r.reason)) by.set(r.reason, { n: 0, of: new Map() });
      const e = by.get(r.reason);
      e.n += r.count; all += r.count;
      e.of.set(r.class, (e.of.get(r.class) || 0) + r.count);
    }
    set(total, all ? count(all) : "none");
    const most = Math.max(...[...by.values()].map((e) => e.n), 1);
    reasons.replaceChildren(...[...by].map(([reason, e]) => {
      const track = el("span", { class: "track", "aria-hidden": "true" });
      snap.classes.forEach((k, i) => {
        const bit = paint(el("i"), colour(i));
        bit.style.width = (100 * (e.of.get(k.name) || 0)) / most + "%";
        track.append(bit);
      });
      const split = [...e.of].map(([c, n]) => `${n} ${c}`).join(", ");
      return el("li", { title: split }, el("span", {}, reason), track,
        el("span", { class: "n" }, count(e.n), el("span", { class: "hidden" }, ` of which ${split}`)));
    }));
    if (!by.size) reasons.append(el("li", { class: "none" }, run.state === "pending" ? "" : "Nobody has been refused."));
  }

  return {
    node,
    draw(run) {
      node.className = "run " + run.state;
      set(title, run.title);
      set(summary, run.summary);
      set(state, run.state === "running"
        ? (run.duration_s ? `${run.elapsed_s.toFixed(0)} of ${+run.duration_s.toFixed(1)} s` : "live")
        : { pending: "to come", done: "finished", failed: "failed" }[run.state] || run.state);
      fill.style.width = run.duration_s ? Math.min(100, (100 * run.elapsed_s) / run.duration_s) + "%" : "0";
      run.classes.forEach((k, i) => {
        set(classes[i].value, pct(k.success_pct));
        set(classes[i].said, known(k.predicted_pct) ? `predicted ${pct(k.predicted_pct)}` : "\u00a0");
      });
      drawing.draw(run);
      set(used, `${run.pool.used} of ${run.pool.slots}`);
      set(waiting, `${run.pool.waiting} of ${run.pool.waiting_limit}` +
        (run.pool.waiting ? `, oldest ${Math.round(run.pool.head_age_ms)} ms` : ""));
      cells(slotCells, run.pool.slots, 16, [{ n: run.pool.used, k: "var(--ink)" }]);
      cells(waitCells, run.pool.waiting_limit, 50, run.classes.map((k, i) => ({ n: k.waiting, k: colour(i) })));
      refusals(run);
    },
  };
}

// ---- the rest --------------------------------------------------------------

function legend(snap) {
  const sample = (cls, k) => {
    const s = svg("svg", { class: "chart", viewBox: "0 0 26 10" });
    s.append(paint(svg("path", { class: cls, d: "M1 5H25" }), k));
    return s;
  };
  const items = snap.classes.map((k, i) => el("span", {}, sample("got", colour(i)), k.name + ", measured"));
  const foretold = sample("said", "var(--soft)");
  foretold.append(paint(svg("path", { class: "dot", d: "M10.7 5a2.3 2.3 0 1 0 4.6 0a2.3 2.3 0 1 0 -4.6 0" }), "var(--soft)"));
  items.push(el("span", {}, foretold, "predicted for the same arrivals"));
  const goal = snap.classes.find((k) => k.objective_pct > 0);
  if (goal) items.push(el("span", {}, sample("goal", ""), `objective of ${goal.name}, ${goal.objective_pct} %`));
  byID("legend").replaceChildren(...items);
}

function table(snap) {
  const th = (text, attrs = {}) => el("th", { scope: "col", ...attrs }, text);
  const head = byID("table").tHead, body = byID("table").tBodies[0];
  if (!head.children.length) {
    head.append(el("tr", {}, th("", { rowspan: 2 }), th("seen by a dashboard", { colspan: 2, scope: "colgroup" }),
      th("success, counting the refused", { colspan: snap.classes.length, scope: "colgroup" }),
      th("the top class, answered", { colspan: 2, scope: "colgroup" }), th("goodput", { rowspan: 2 })));
    head.append(el("tr", {}, th("survivors’ p99"), th("success of admitted"),
      ...snap.classes.map((k) => th(k.name)), th("p95"), th("p99")));
  }
  const cell = (text, said, cls) => {
    const td = el("td", cls ? { class: cls } : {}, text);
    if (said && said !== dash) td.append(" ", el("small", {}, `(${said})`));
    return td;
  };
  body.replaceChildren(...snap.runs.map((run) => el("tr", { "data-row": run.id },
    el("th", { scope: "row" }, run.title), cell(ms(run.survivor_p99_ms)), cell(pct(run.admitted_pct)),
    ...run.classes.map((k, i) => {
      const goal = snap.classes[i].objective_pct;
      const mark = !goal || !known(k.success_pct) ? "" : k.success_pct >= goal ? "met" : "miss";
      const td = cell(pct(k.success_pct), pct(k.predicted_pct), mark);
      if (mark) td.append(el("span", { class: "hidden" }, mark === "met" ? " objective met" : " objective missed"));
      return td;
    }),
    cell(ms(run.classes[0]?.p95_ms)), cell(ms(run.classes[0]?.p99_ms)),
    cell(rps(run.goodput_rps), rps(run.predicted_goodput_rps)))));
}

let cards = new Map();

function draw(snap) {
  document.title = snap.title;
  set(byID("title"), snap.title);
  set(byID("lead"), snap.lead);
  byID("banner").className = "banner " + snap.headline.tone;
  set(byID("tone"), { calm: "all well", shed: "shedding", alarm: "losing" }[snap.headline.tone] || "");
  if (snap.state === "done") set(byID("tone"), "result");
  if (snap.state === "pending") set(byID("tone"), "starting");
  announce(snap.headline.text);
  byID("facts").replaceChildren(...snap.facts.map((f) => el("div", {}, el("dt", {}, f.name), el("dd", {}, f.value))));
  const runs = snap.runs || [];
  if (runs.length !== cards.size || runs.some((r) => !cards.has(r.id))) {
    cards = new Map(runs.map((r) => [r.id, card(snap, r)]));
    byID("runs").replaceChildren(...[...cards.values()].map((c) => c.node));
    legend(snap);
  }
  for (const r of runs) cards.get(r.id).draw(r);
  table(snap);
  byID("verdicts").replaceChildren(...(snap.verdicts || []).map((v) => el("li", { class: v.tone }, v.text)));
  byID("notes").replaceChildren(...(snap.notes || []).map((n) => el("p", {}, n)));
}

// announce changes the headline at most every two seconds: it is read aloud.
let said = 0, later = 0;
function announce(text) {
  clearTimeout(later);
  const wait = said + 2000 - Date.now();
  if (wait > 0) { later = setTimeout(announce, wait, text); return; }
  if (byID("headline").textContent !== text) { set(byID("headline"), text); said = Date.now(); }
}

// ---- the connection --------------------------------------------------------

let paused = false, newest = null;
byID("pause").addEventListener("click", (e) => {
  paused = !paused;
  e.target.setAttribute("aria-pressed", String(paused));
  set(e.target, paused ? "Go on" : "Pause");
  if (!paused && newest) draw(newest);
});

function link(text, cls) { const c = byID("link"); c.className = "chip " + cls; set(c, text); }

const events = new EventSource("events");
events.onmessage = (e) => {
  newest = JSON.parse(e.data);
  link(newest.state === "done" ? "finished" : "live", "live");
  if (!paused) draw(newest);
  document.body.dataset.state = newest.state; // for whoever waits for the end
};
events.onerror = () => link("not connected: ended, or out of reach", "lost");
