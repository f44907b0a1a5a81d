// The form beside the list: a search, and for each property of a debate the values that there are, with counts.
"use strict";

debatebench.debates.makeFilters = (box, change) => {
  const { element, visible, lists } = debatebench.debates;
  const SELECTS = {
    run: "Run",
    debater: "Debater",
    side: "Its side",
    result: "Its result",
    opponent: "Opponent",
    winner: "Winner",
    split: "Votes",
    topic: "Topic",
    category: "Category",
    panel: "Judge",
    vote: "Its vote",
    weakness: "Injected weakness",
    flagged: "May not be fit to be judged",
    status: "Status",
    rated: "In ratings",
  };
  const FIXED = {
    side: ["pro", "con"],
    result: ["win", "loss", "tie", "none"],
    winner: ["pro", "con", "tie", "none"],
    vote: ["pro", "con", "tie", "none"],
    split: ["1", "0"],
    rated: ["1", "0"],
  };
  const NEEDS = { side: "debater", result: "debater", opponent: "debater", vote: "panel" };
  const TEXTS = {
    side: { pro: "for (pro)", con: "against (con)" },
    result: { win: "won", loss: "lost", tie: "tied", none: "no decision" },
    winner: { pro: "for (pro)", con: "against (con)", none: "no decision" },
    vote: { pro: "for (pro)", con: "against (con)", none: "not usable" },
    split: { 1: "judges disagree", 0: "judges agree" },
    rated: { 1: "counted", 0: "not counted" },
    category: { "": "no category" },
    weakness: { any: "any weakness" },
    flagged: { any: "for any reason", ...lists.FLAGS },
  };
  const ORDERS = {
    "": "as played",
    newest: "newest first",
    oldest: "oldest first",
    closest: "closest scores first",
    clearest: "clearest scores first",
    dearest: "dearest first",
    cheapest: "cheapest first",
    longest: "longest first",
  };
  const controls = {};
  const order = new Intl.Collator("en", { numeric: true });

  const labelled = (name, label, control) => {
    controls[name] = control;
    control.id = `filter-${name}`;
    return element("p", { class: "debate-filter", "data-filter": name }, element("label", { for: control.id }, label), control);
  };

  // The value that a select has, which may be an empty text; null is any.
  const chosenIn = (control) => (control.value === "" ? null : control.value.slice(1));

  const select = (name, label) =>
    labelled(name, label, element("select", { on: { change: (event) => change({ [name]: chosenIn(event.target) }) } }));

  const amount = (name, label) =>
    labelled(
      name,
      label,
      element("input", {
        type: "text",
        inputmode: "decimal",
        autocomplete: "off",
        size: "6",
        on: {
          change: (event) => {
            const text = event.target.value.replace(/[$\s]/g, "").replace(",", ".");
            const isAmount = text === "" || Number.isFinite(Number(text));
            event.target.setAttribute("aria-invalid", String(!isAmount));
            if (isAmount) {
              change({ [name]: text });
            }
          },
        },
      }),
    );

  let pause = 0;
  const search = labelled(
    "q",
    "Search in motions, names, speeches and reasons",
    element("input", {
      type: "search",
      autocomplete: "off",
      spellcheck: "false",
      on: {
        input: (event) => {
          clearTimeout(pause);
          pause = setTimeout(() => change({ q: event.target.value }, { isTyped: true }), 120);
        },
        keydown: (event) => {
          if (event.key === "Enter") {
            clearTimeout(pause);
            change({ q: event.target.value }, { isTyped: true });
          }
        },
      },
    }),
  );
  const clear = element("button", { type: "button", on: { click: () => change(null) } }, "Clear all");
  const summary = element("summary", {}, "Filters");
  const fold = element(
    "details",
    { class: "filter-fold", open: window.matchMedia("(min-width: 60rem)").matches },
    summary,
    element(
      "div",
      { class: "filter-grid" },
      Object.entries(SELECTS).map(([name, label]) => select(name, label)),
      element(
        "fieldset",
        { class: "debate-filter cost" },
        element("legend", {}, "Cost in US dollars"),
        amount("cost_min", "from"),
        amount("cost_max", "to"),
      ),
      select("sort", "Order"),
      element("p", { class: "debate-filter" }, clear),
    ),
  );
  box.append(
    search,
    element(
      "details",
      { class: "search-help" },
      element("summary", {}, "How it searches"),
      element(
        "p",
        { class: "note" },
        "All words must occur, in any order; a word also finds longer ones that begin with it, unless it stands in " +
          "quotation marks. Case and accents do not matter. In Chinese, Japanese, Thai, Lao, Khmer and Burmese, each pair " +
          "of neighbouring characters must occur.",
      ),
    ),
    fold,
  );

  const optionsOf = (name, counts, chosen) => {
    const values = FIXED[name] ?? Array.from(counts?.keys() ?? []);
    const named = values.filter((value) => value !== null && value !== undefined);
    if (chosen && !named.includes(chosen)) {
      named.push(chosen);
    }
    return FIXED[name] ? named : named.sort(order.compare);
  };

  const fillSelect = (name, filters, counts, motions) => {
    const control = controls[name];
    const chosen = filters.get(name) ?? null;
    const options = optionsOf(name, counts, chosen);
    const text = (value) => {
      const named = { topic: () => motions.get(value) ?? value, weakness: () => lists.words(value) };
      const shown = TEXTS[name]?.[value] ?? named[name]?.() ?? value;
      const count = counts && (counts.get(value) ?? 0);
      const short = shown.length > 70 ? `${shown.slice(0, 69)}…` : shown;
      return counts ? `${visible(short)} (${count.toLocaleString("en")})` : visible(short);
    };
    control.replaceChildren(
      element("option", { value: "" }, "any"),
      ...options.map((value) => element("option", { value: `=${value}`, selected: value === chosen }, text(value))),
    );
    control.parentElement.hidden =
      (name in NEEDS && !filters.has(NEEDS[name])) || (chosen === null && !FIXED[name] && options.length < (name === "weakness" || name === "flagged" ? 1 : 2));
  };

  return {
    // Shows what is chosen, and how many debates each value would leave.
    show(all, filters, counts) {
      const motions = new Map(all.names.topic.values.map(([id, motion]) => [id, motion ?? id]));
      for (const name of Object.keys(SELECTS)) {
        fillSelect(name, filters, counts[name], motions);
      }
      for (const name of ["cost_min", "cost_max"]) {
        controls[name].value = filters.get(name) ?? "";
        controls[name].removeAttribute("aria-invalid");
      }
      if (document.activeElement !== controls.q) {
        controls.q.value = filters.get("q") ?? "";
      }
      controls.sort.replaceChildren(
        ...Object.entries(ORDERS).map(([value, text]) =>
          element("option", { value: `=${value}`, selected: value === (filters.get("sort") ?? "") }, text),
        ),
      );
      const active = Array.from(filters.keys()).filter((name) => name !== "sort" && name !== "q").length;
      summary.textContent = active ? `Filters (${active} active)` : "Filters";
      clear.disabled = filters.size === 0;
    },
    search: controls.q,
  };
};
