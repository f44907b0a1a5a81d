// The list of debates: only the rows in view are in the document, whatever the length of the list.
"use strict";

debatebench.debates.makeList = (box, { linkOf, open }) => {
  const { element, winnerMark, dollars } = debatebench.debates;
  const SPARE = 8;
  const inner = element("div", { class: "debate-rows", role: "list" });
  box.append(inner);
  let all = null;
  let found = [];
  // The place of the row that the keyboard is at: it stays in the document, so that the focus is not lost.
  let current = 0;
  let height = 0;
  const shown = new Map();

  const rowHeight = () => parseFloat(getComputedStyle(box).getPropertyValue("--row-height")) * rem();
  const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

  const votesOf = (at) => {
    const votes = all.votes[at];
    if (!votes.length) {
      return null;
    }
    const count = (letter) => votes.split(letter).length - 1;
    return `${count("p")} · ${count("t")} · ${count("c")}`;
  };

  const side = (name, label) => [
    element("span", { class: `name mark mark-${label}`, dir: "auto" }, name ?? "nobody"),
    element("span", { class: "hidden-text" }, ` (${label})`),
  ];

  const row = (place) => {
    const at = found[place];
    const [pro, con] = all.sides(at);
    const opponents =
      pro === null && con === null
        ? element("span", { class: "name" }, all.opponents(at))
        : [side(pro, "pro"), " against ", side(con, "con")];
    const votes = votesOf(at);
    const facts = [
      all.runs.length > 1 ? all.runTag(at) : null,
      all.names.category.values[all.category[at]],
      Number.isNaN(all.cost[at]) ? null : dollars(all.cost[at]),
      all.split[at] ? "split panel" : null,
      all.flags[at] >= 0 ? "flagged" : null,
      all.weaknesses[at] >= 0 ? "weakness" : null,
    ];
    const status = all.names.status.values[all.status[at]];
    const link = element(
      "a",
      { class: "debate-row", href: linkOf(at), tabIndex: place === current ? 0 : -1 },
      element("span", { class: "motion", dir: "auto" }, all.motion(at)),
      element("span", { class: "opponents" }, opponents),
      element(
        "span",
        { class: "outcome" },
        winnerMark(all.winner[at] === 3 && status !== "complete" ? status : all.winnerName(at)),
        all.firstTeams.has(at) ? element("span", { class: "votes" }, all.firstTeams.get(at)) : null,
        votes && element("span", { class: "votes" }, votes, element("span", { class: "hidden-text" }, " votes for pro, neither, con")),
      ),
      element(
        "span",
        { class: "row-facts" },
        facts.filter(Boolean).map((fact) => element("span", { dir: "auto" }, fact)),
      ),
    );
    const item = element(
      "div",
      { class: "debate-item", role: "listitem", "aria-setsize": found.length, "aria-posinset": place + 1 },
      link,
    );
    item.style.transform = `translateY(${place * height}px)`;
    return item;
  };

  const draw = () => {
    if (all === null || box.offsetParent === null) {
      return;
    }
    const first = Math.max(0, Math.floor(box.scrollTop / height) - SPARE);
    const last = Math.min(found.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + SPARE);
    const wanted = new Set();
    for (let place = first; place < last; place += 1) {
      wanted.add(place);
    }
    if (current < found.length) {
      wanted.add(current);
    }
    for (const [place, item] of shown) {
      if (!wanted.has(place)) {
        item.remove();
        shown.delete(place);
      }
    }
    for (const place of Array.from(wanted).sort((a, b) => a - b)) {
      if (!shown.has(place)) {
        const item = row(place);
        const next = Array.from(shown.keys()).filter((each) => each > place).sort((a, b) => a - b)[0];
        inner.insertBefore(item, next === undefined ? null : shown.get(next));
        shown.set(place, item);
      }
    }
  };

  const redraw = () => {
    height = rowHeight();
    inner.style.height = `${found.length * height}px`;
    inner.replaceChildren();
    shown.clear();
    draw();
  };

  const reveal = (place) => {
    const top = place * height;
    if (top < box.scrollTop) {
      box.scrollTop = top;
    } else if (top + height > box.scrollTop + box.clientHeight) {
      box.scrollTop = top + height - box.clientHeight;
    }
  };

  const moveTo = (place) => {
    const before = shown.get(current)?.firstElementChild;
    if (before) {
      before.tabIndex = -1;
    }
    current = Math.max(0, Math.min(found.length - 1, place));
    reveal(current);
    draw();
    const link = shown.get(current)?.firstElementChild;
    if (link) {
      link.tabIndex = 0;
      link.focus({ preventScroll: true });
    }
  };

  const pageOf = () => Math.max(1, Math.floor(box.clientHeight / height) - 1);
  const STEPS = {
    ArrowDown: () => current + 1,
    ArrowUp: () => current - 1,
    PageDown: () => current + pageOf(),
    PageUp: () => current - pageOf(),
    Home: () => 0,
    End: () => found.length - 1,
  };

  box.addEventListener("keydown", (event) => {
    if (event.key in STEPS && !event.ctrlKey && !event.metaKey && !event.altKey && found.length) {
      event.preventDefault();
      moveTo(STEPS[event.key]());
    }
  });
  box.addEventListener("focusin", (event) => {
    for (const [place, item] of shown) {
      if (item.contains(event.target) && place !== current) {
        moveTo(place);
        return;
      }
    }
  });
  box.addEventListener("click", (event) => {
    const item = event.target.closest?.(".debate-item");
    if (item && event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      open(found[Number(item.getAttribute("aria-posinset")) - 1]);
    }
  });
  let isWaiting = false;
  box.addEventListener("scroll", () => {
    if (!isWaiting) {
      isWaiting = true;
      requestAnimationFrame(() => {
        isWaiting = false;
        draw();
      });
    }
  });
  new ResizeObserver(() => (height !== rowHeight() ? redraw() : draw())).observe(box);

  return {
    // Shows these debates, from the first on.
    show(debates, order) {
      all = debates;
      found = order;
      current = 0;
      box.scrollTop = 0;
      redraw();
    },
    redraw,
    // Goes to a debate, and puts the focus there.
    focus(at) {
      const place = found.indexOf(at);
      redraw();
      moveTo(Math.max(0, place));
    },
  };
};
