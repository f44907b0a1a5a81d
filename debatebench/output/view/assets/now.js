// Asks the server for the state of the runs and shows it. All text goes into the page as text, never as markup.
"use strict";

(() => {
  const root = document.currentScript.dataset.root;
  const runs = document.getElementById("runs");
  const status = document.getElementById("status");
  const problem = document.getElementById("problem");
  const pause = 1000;
  const pauseWithoutServer = 3000;
  let shown = "";
  let said = "";

  function make(name, text, attributes = {}) {
    const element = document.createElement(name);
    if (text !== null) element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  // A drawing of an interval on the scale of all rows; beside it stand the same numbers as text.
  function drawing(row, least, most) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 200 20");
    svg.setAttribute("class", "interval");
    svg.setAttribute("aria-hidden", "true");
    const at = (value) => String(6 + (188 * (value - least)) / (most - least || 1));
    const line = (from, to, y1, y2, kind) => {
      const element = document.createElementNS(svg.namespaceURI, "line");
      for (const [name, value] of Object.entries({ x1: from, x2: to, y1, y2, class: kind })) {
        element.setAttribute(name, value);
      }
      svg.append(element);
    };
    if (least < 0 && most > 0) line(at(0), at(0), "0", "20", "zero");
    if (row.low !== null) line(at(row.low), at(row.high), "10", "10", "range");
    const dot = document.createElementNS(svg.namespaceURI, "circle");
    for (const [name, value] of Object.entries({ cx: at(row.value), cy: "10", r: "4" })) dot.setAttribute(name, value);
    svg.append(dot);
    return svg;
  }

  function board(run, builtAt) {
    const box = make("div", null, { class: "scroll", tabindex: "0", role: "region", "aria-label": `Leaderboard of ${run.tag}` });
    const table = make("table", null);
    table.append(make("caption", `Leaderboard of ${run.tag}`));
    const head = make("tr", null);
    for (const name of ["Rank", "Open ranks", "Debater", "Rating", "95 % interval", "Interval drawn", "Win rate", "Debates"]) {
      const isText = ["Open ranks", "Debater", "Interval drawn"].includes(name);
      head.append(make("th", name, { scope: "col", ...(isText ? {} : { class: "number" }) }));
    }
    table.append(make("thead", null));
    table.tHead.append(head);
    const body = make("tbody", null);
    const ends = run.board.flatMap((row) => [row.value, row.low ?? row.value, row.high ?? row.value]);
    for (const row of run.board) {
      const line = make("tr", null, row.is_settled ? { class: "is-settled" } : {});
      line.append(make("td", row.rank, { class: "number" }));
      const ranks = make("td", row.is_settled ? "" : row.ranks);
      if (row.is_settled) ranks.append(make("span", "settled", { class: "settled" }));
      line.append(ranks);
      line.append(make("th", row.debater, { scope: "row", class: "debater", dir: "auto" }));
      line.append(make("td", row.rating, { class: "number" }));
      line.append(make("td", row.interval, { class: "number" }));
      const drawn = make("td", null);
      drawn.append(drawing(row, Math.min(...ends), Math.max(...ends)));
      line.append(drawn);
      line.append(make("td", row.win_rate, { class: "number" }));
      line.append(make("td", row.debates, { class: "number" }));
      body.append(line);
    }
    table.append(body);
    box.append(table);
    const all = make("div", null);
    const count = `${run.done_on_board.toLocaleString("en")} ${run.done_on_board === 1 ? "debate" : "debates"}`;
    all.append(make("h3", `Leaderboard after ${count}, computed at ${builtAt}`));
    if (run.notes.length) all.append(make("p", run.notes[0], { class: "intro" }));
    if (run.board.length) all.append(box);
    else all.append(make("p", `A debater is ranked after ${run.least_debates} rated debates; none has as many yet.`, { class: "empty" }));
    for (const note of run.notes.slice(1)) all.append(make("p", note, { class: "note" }));
    return all;
  }

  function section(run, number, builtAt) {
    const part = make("section", null, { "aria-labelledby": `run-${number}` });
    part.append(make("h2", run.tag, { id: `run-${number}`, class: "run", dir: "auto" }));
    part.append(make("p", run.words ?? "Begun; its journal is being read.", { class: "run-state" }));
    if (run.planned > 0) {
      part.append(make("progress", null, { max: run.planned, value: run.done, "aria-label": `Debates of ${run.tag} that have ended` }));
    }
    const facts = make("dl", null, { class: "facts" });
    for (const [name, value] of run.facts ?? []) {
      const pair = make("div", null);
      pair.append(make("dt", name), make("dd", value));
      facts.append(pair);
    }
    if (facts.childElementCount) part.append(facts);
    if (run.done_on_board !== undefined) part.append(board(run, builtAt));
    return part;
  }

  function say(words) {
    // The same words again would be read aloud again.
    if (words !== said) status.textContent = said = words;
  }

  function show(state) {
    problem.hidden = state.problems.length === 0;
    problem.textContent = state.problems.join(" ");
    say(state.is_playing ? "This page follows what is being played." : "Nothing is being played now.");
    const text = JSON.stringify(state.runs) + state.built_at;
    if (text === shown) return;
    shown = text;
    const focused = document.activeElement?.getAttribute("aria-label");
    const scrolled = [...runs.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    runs.replaceChildren(...state.runs.map((run, number) => section(run, number, state.built_at)));
    runs.querySelectorAll(".scroll").forEach((box, number) => {
      box.scrollLeft = scrolled[number] ?? 0;
      if (focused && box.getAttribute("aria-label") === focused) box.focus({ preventScroll: true });
    });
  }

  async function ask() {
    let next = pause;
    try {
      const answer = await fetch(`${root}/now.json`, { cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      show(await answer.json());
    } catch {
      say("The server does not answer; `debatebench view` starts it again, at another address.");
      next = pauseWithoutServer;
    }
    setTimeout(ask, document.hidden ? 5 * next : next);
  }

  ask();
})();
