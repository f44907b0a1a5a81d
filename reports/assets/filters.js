// The filters of a page: a form, the state in the address, and the sections that are computed again. Text from the
// warehouse is only ever text here.
"use strict";

(() => {
  const place = document.querySelector(".filters[data-outcomes]");
  const columns = document.querySelector(".sections");
  const root = place.dataset.root;
  const kinds = place.dataset.kinds.split(" ");
  const others = new Set(place.dataset.pages.split(" ").map((path) => new URL(root + path, location.href).pathname));
  const sections = Array.from(columns.children).filter((each) => each.matches("section"));

  // --- elements --------------------------------------------------------------------------------------------------------

  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  };

  const shown = (name) => data.shown[name] ?? name;
  const bdi = (name) => element("bdi", {}, shown(name));
  const listed = (names) => names.flatMap((name, at) => (at === 0 ? [bdi(name)] : [", ", bdi(name)]));

  // As in the other tables: a number exactly between two is rounded to the even one.
  const fixed = (value, digits) => {
    const doubled = value * 2 ** (digits + 1);
    if (!Number.isInteger(doubled) || doubled % 2 === 0) {
      return value.toFixed(digits);
    }
    const below = Math.floor(value * 10 ** digits);
    return ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits);
  };
  const percent = (value) => `${fixed(100 * value, 1)}%`;
  const grouped = (value) => value.toLocaleString("en-US");
  const whole = (value) => grouped(Number(fixed(value, 0))).replace("-", "−");
  const counted = (count, one, several) => `${grouped(count)} ${count === 1 ? one : several}`;

  // --- the state: which names are left out, by kind, and which side counts ----------------------------------------------

  const lists = { category: "categories", judge: "judges", debater: "debaters" };
  const listKinds = kinds.filter((kind) => kind in lists);
  const nothing = () => ({ out: Object.fromEntries(listKinds.map((kind) => [kind, new Set()])), side: null, unknown: [] });
  const isActive = (state) => state.side !== null || listKinds.some((kind) => state.out[kind].size > 0);

  const parts = () => new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
  const asksForFilter = () => {
    const asked = parts();
    return kinds.some((kind) => asked.has(kind) || asked.has(`without_${kind}`));
  };

  const readState = () => {
    const state = nothing();
    const asked = parts();
    for (const kind of listKinds) {
      const names = data[lists[kind]];
      const known = (name) => names.includes(name) || (state.unknown.push(name), false);
      const only = new Set(asked.getAll(kind).filter(known));
      if (only.size > 0) {
        names.filter((name) => !only.has(name)).forEach((name) => state.out[kind].add(name));
      }
      asked.getAll(`without_${kind}`).filter(known).forEach((name) => state.out[kind].add(name));
    }
    if (kinds.includes("side") && ["pro", "con"].includes(asked.get("side"))) {
      state.side = asked.get("side");
    }
    return state;
  };

  // The shorter of the lists: of names that are kept, or of names that are left out.
  const written = (state, anchor) => {
    const pairs = listKinds.flatMap((kind) => {
      const names = data[lists[kind]];
      const kept = names.filter((name) => !state.out[kind].has(name));
      const out = names.filter((name) => state.out[kind].has(name));
      if (out.length === 0) {
        return [];
      }
      const isShorter = kept.length > 0 && kept.length <= out.length;
      return (isShorter ? kept : out).map((name) => [isShorter ? kind : `without_${kind}`, name]);
    });
    if (state.side !== null) {
      pairs.push(["side", state.side]);
    }
    if (anchor) {
      pairs.push(["at", anchor]);
    }
    return pairs.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
  };

  const computable = (state) => {
    const filter = { categories: null, judges: null, debaters: null, side: state.side };
    for (const kind of listKinds.filter((each) => state.out[each].size > 0)) {
      const names = data[lists[kind]];
      filter[lists[kind]] = names.flatMap((name, at) => (state.out[kind].has(name) ? [] : [at]));
    }
    return filter;
  };

  // --- links to the debates that a number counts ------------------------------------------------------------------------

  const onlyCategory = (state) => {
    const kept = listKinds.includes("category") ? data.categories.filter((name) => !state.out.category.has(name)) : [];
    if (kept.length !== 1 || data.categories.length === 1) {
      return null;
    }
    return kept[0] === "uncategorized" ? "" : kept[0];
  };

  // The page of debates knows one category, and no judge or debater that is left out.
  const isBeyondLinks = (state) =>
    ["judge", "debater"].some((kind) => state.out[kind]?.size > 0) ||
    (state.out.category?.size > 0 && onlyCategory(state) === null);

  const linked = (text, state, facets) => {
    const given = { run: data.run_tag, ...facets, category: onlyCategory(state) };
    const pairs = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
    const query = pairs.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
    return element("a", { href: `${root}debates.html#${query}` }, text);
  };

  // --- tables -----------------------------------------------------------------------------------------------------------

  // A cell is `{ text, sort }`, of which `sort` is a number or absent; `content` may stand in place of the text.
  const cellOf = ({ text, sort, content = text, share }, isNumber, isHeading) => {
    const made = element(isHeading ? "th" : "td", isHeading ? { scope: "row", dir: "auto" } : {}, content);
    if (isNumber) {
      made.className = "n";
    }
    if (sort !== undefined) {
      made.dataset.sort = sort;
    }
    if (share !== undefined) {
      made.classList.add("share", share >= 0.5 ? "share-high" : "share-low");
      made.style.setProperty("--tint", `${Math.round(50 * Math.abs(share - 0.5))}%`);
    }
    return made;
  };

  const tableOf = (section, headings, rows) => {
    const head = headings.map(({ text, content = text, isNumber }) =>
      element("th", isNumber ? { scope: "col", class: "n" } : { scope: "col" }, content),
    );
    const lines = rows.map((cells) => element("tr", {}, ...cells.map((cell, at) => cellOf(cell, headings[at].isNumber, at === 0))));
    const caption = element("caption", {}, `${section.querySelector("h2").textContent}, recomputed`);
    const table = element("table", {}, caption, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...lines));
    debatebench.sortable(table);
    return element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption.textContent }, table);
  };

  const text = (label) => ({ text: label });
  const number = (label) => ({ text: label, isNumber: true });
  const name = (value) => ({ content: bdi(value) });
  const rate = (value) => ({ text: percent(value), sort: value });
  const interval = ({ low, high, reason }) =>
    low === null
      ? { text: `– (${reason === "one_cluster" ? "only one topic or debate" : reason})` }
      : { text: `${percent(low)} to ${percent(high)}`, sort: low };

  const crosstab = (section, rows, { x, y, value, cell }, corner, names) => {
    const at = new Map(rows.map((row) => [JSON.stringify([row[y], row[x]]), row]));
    const used = [y, x].map((key) => new Set(rows.map((row) => row[key])));
    const [ys, xs] = used.map((found) => names.filter((each) => found.has(each)));
    const headings = [text(corner), ...xs.map((each) => ({ content: bdi(each), isNumber: true }))];
    const lines = ys.map((one) => [
      name(one),
      ...xs.map((other) => {
        const row = at.get(JSON.stringify([one, other]));
        return row ? { content: cell(row), sort: row[value], share: row[value] } : text("–");
      }),
    ]);
    return tableOf(section, headings, lines);
  };

  const results = (row, state, facets) =>
    [
      ["games", undefined],
      ["wins", "win"],
      ["losses", "loss"],
      ["ties", "tie"],
    ].map(([key, result]) => {
      const shownCount = grouped(row[key]);
      // The page of debates knows who won by the whole panel only.
      const isKnown = row[key] > 0 && !(result && state.out.judge?.size > 0);
      return { content: isKnown ? linked(shownCount, state, { ...facets, result, rated: 1 }) : shownCount, sort: row[key] };
    });
  const resultHeadings = ["Debates", "Won", "Lost", "Tied"].map(number);

  // --- what each kind of section shows ----------------------------------------------------------------------------------

  const debated = "rated";
  const judged = "judged";

  const shows = {
    leaderboard: {
      compute: "leaderboard",
      of: debated,
      table: (section, { rows }, state) => {
        const side = state.side === null ? "" : ` as ${state.side}`;
        const headings = [text("Debater"), number(`Win rate${side}`), number("95 % interval"), ...resultHeadings];
        const sorted = [...rows].sort((a, b) => b.win_rate - a.win_rate);
        const lines = sorted.map((row) => [
          name(row.debater),
          rate(row.win_rate),
          interval(row),
          ...results(row, state, { debater: row.debater, side: state.side }),
          { text: whole(row.elo), sort: row.elo },
        ]);
        return tableOf(section, [...headings, number(side ? "Elo, both sides" : "Elo")], lines);
      },
      notes: ({ rows }, state) => {
        const { initial, k } = data.elo;
        const absent = data.debaters.filter((each) => !rows.some((row) => row.debater === each));
        const left = absent.filter((each) => !state.out.debater?.has(each));
        return [
          `Elo ratings start again at ${initial}, and go through these debates in their order with K = ${k}. ` +
            "Bradley–Terry ratings, ranks and mean scores are not computed in a page, and are not shown here.",
          state.side && "Elo is that of both sides, because a debate moves the ratings of both.",
          left.length > 0 && ["Without a debate that counts: ", ...listed(left), "."],
        ];
      },
    },
    sides: {
      compute: "sides",
      of: debated,
      table: (section, { rows }, state) => {
        const headings = [text("Debater"), text("Side"), number("Win rate"), number("95 % interval"), ...resultHeadings];
        const lines = rows.map((row) => [
          name(row.debater),
          text(row.side),
          rate(row.win_rate),
          interval(row),
          ...results(row, state, { debater: row.debater, side: row.side }),
        ]);
        return tableOf(section, headings, lines);
      },
    },
    head_to_head: {
      compute: "headToHead",
      of: debated,
      table: (section, { rows }, state) => {
        const cell = (row) => {
          const facets = { debater: row.debater, opponent: row.opponent, side: state.side, rated: 1 };
          return linked(`${percent(row.win_rate)} (${grouped(row.games)})`, state, facets);
        };
        const roles = { x: "opponent", y: "debater", value: "win_rate", cell };
        return crosstab(section, rows, roles, "Debater", data.debaters);
      },
      notes: () => ["Each cell: the win rate of the debater of the row, and the number of debates."],
    },
    judge_agreement: {
      compute: "judgeAgreement",
      of: judged,
      table: (section, { rows }) => {
        const both = rows.flatMap((row) => [row, { ...row, judge_a: row.judge_b, judge_b: row.judge_a }]);
        const cell = (row) => `${percent(row.agreement_rate)} (${grouped(row.total)})`;
        const roles = { x: "judge_b", y: "judge_a", value: "agreement_rate", cell };
        return crosstab(section, both, roles, "Judge", data.judges);
      },
      notes: () => ["Each cell: how often both named the same winner, and the number of debates that both judged."],
    },
    judge_sides: {
      compute: "judgeSides",
      of: judged,
      table: (section, { rows }, state) => {
        const headings = [text("Judge"), ...["Pro", "Tie", "Con", "Verdicts"].map(number)];
        const sorted = [...rows].sort((a, b) => b.pro_rate - a.pro_rate);
        const lines = sorted.map((row) => [
          name(row.judge),
          ...["pro", "tie", "con"].map((vote) => {
            const shownRate = percent(row[`${vote}_rate`]);
            const content = row[vote] === 0 ? shownRate : linked(shownRate, state, { panel: row.judge, vote });
            return { content, sort: row[`${vote}_rate`] };
          }),
          { text: grouped(row.total), sort: row.total },
        ]);
        return tableOf(section, headings, lines);
      },
    },
    judge_alignment: {
      compute: "judgeAlignment",
      of: judged,
      table: (section, { rows }, state) => {
        const headings = ["Agrees with the others", "95 % interval", "Debates", "Decides"].map(number);
        const sorted = [...rows].sort((a, b) => b.alignment_rate - a.alignment_rate);
        const lines = sorted.map((row) => [
          name(row.judge),
          rate(row.alignment_rate),
          interval(row),
          { content: linked(grouped(row.count_debates), state, { panel: row.judge }), sort: row.count_debates },
          rate(row.flip_rate),
        ]);
        return tableOf(section, [text("Judge"), ...headings], lines);
      },
      notes: (found, state) => [
        state.out.judge?.size > 0 && "The others are the judges that are kept; a judge without another one is not compared.",
      ],
    },
  };

  const panelRule = {
    more_verdicts: "the side that more of them name wins, otherwise it is a tie",
    more_than_half: "the side that more than half of them name wins, otherwise it is a tie",
  };

  const countText = (found, of) =>
    `${grouped(found.counted)} of ${grouped(found.of)} ${of === debated ? "rated debates" : "judged debates"}`;

  const commonNotes = (found, of, state) => [
    `Recomputed: ${countText(found, of)} of this run ${found.of === 1 ? "counts" : "count"}.`,
    of === debated && state.side && `Of each debate, only the result of the debater that argued ${state.side} counts.`,
    state.out.judge?.size > 0 &&
      `Winners are derived again from the verdicts of the judges that are kept: ${panelRule[data.rule]}. A forfeit stays one.`,
    found.undecided > 0 &&
      `${counted(found.undecided, "debate has", "debates have")} no verdict of these judges, and ` +
        `${found.undecided === 1 ? "does" : "do"} not count.`,
    isBeyondLinks(state) && "Links lead to all such debates, whichever judges, debaters or categories are kept.",
    found.rows.some((row) => row.reason === "few_topics") &&
      "With fewer than three topics, intervals say nothing about other topics.",
  ];

  const note = (content) => element("p", { class: "note" }, ...[content].flat());

  const recomputed = (section, kind, filter, state) => {
    const { compute, of, table, notes = () => [] } = shows[kind];
    const found = debatebench.filtered[compute](data, filter);
    const texts = [...commonNotes(found, of, state), ...notes(found, state)].filter(Boolean);
    const body =
      found.rows.length > 0
        ? table(section, found, state)
        : element("p", { class: "empty" }, "No debate that the filter keeps counts here.");
    const rest = texts.slice(1).flatMap((each, at) => [...(at > 0 ? [" "] : []), ...[each].flat()]);
    return element("div", { class: "recomputed" }, note(texts[0]), body, rest.length > 0 ? note(rest) : null);
  };

  // --- the form ---------------------------------------------------------------------------------------------------------

  const legends = { category: "Categories", judge: "Judges", debater: "Debaters" };
  let data = null;
  let state = null;
  let form = null;

  const details = element("details", { class: "filter" }, element("summary", {}, "Filter the debates"));
  const status = element("p", { class: "filter-status", role: "status" });
  place.append(details, status);
  place.hidden = false;

  const checkboxes = (kind) => {
    const boxes = data[lists[kind]].map((each, at) => {
      const box = element("input", { type: "checkbox", name: kind, value: String(at) });
      return element("label", {}, box, " ", bdi(each));
    });
    const button = (label, isChecked) => {
      const made = element("button", { type: "button" }, label);
      made.addEventListener("click", () => {
        form.querySelectorAll(`input[name="${kind}"]`).forEach((box) => (box.checked = isChecked));
        changed();
      });
      return made;
    };
    return element(
      "fieldset",
      {},
      element("legend", {}, legends[kind]),
      element("div", { class: "filter-names" }, ...boxes),
      element("div", { class: "filter-all" }, button(`All ${lists[kind]}`, true), button(`No ${lists[kind]}`, false)),
    );
  };

  const radios = () => {
    const sides = [
      ["", "Both sides"],
      ["pro", "Results as pro"],
      ["con", "Results as con"],
    ];
    const choices = sides.map(([value, label]) =>
      element("label", {}, element("input", { type: "radio", name: "side", value }), ` ${label}`),
    );
    return element("fieldset", {}, element("legend", {}, "Side"), element("div", { class: "filter-names" }, ...choices));
  };

  const makeForm = () => {
    // One judge, debater or category cannot be chosen from.
    const fields = kinds.filter((kind) => kind === "side" || data[lists[kind]].length > 1);
    form = element("form", {}, ...fields.map((kind) => (kind === "side" ? radios() : checkboxes(kind))));
    form.addEventListener("change", changed);
    form.addEventListener("submit", (event) => event.preventDefault());
    details.append(form);
  };

  const showState = () => {
    for (const box of form.querySelectorAll('input[type="checkbox"]')) {
      box.checked = !state.out[box.name].has(data[lists[box.name]][Number(box.value)]);
    }
    for (const choice of form.querySelectorAll('input[type="radio"]')) {
      choice.checked = choice.value === (state.side ?? "");
    }
  };

  const readForm = () => {
    const read = nothing();
    for (const box of form.querySelectorAll('input[type="checkbox"]:not(:checked)')) {
      read.out[box.name].add(data[lists[box.name]][Number(box.value)]);
    }
    read.side = form.querySelector('input[name="side"]:checked')?.value || null;
    return read;
  };

  // --- the page ---------------------------------------------------------------------------------------------------------

  const summary = () => {
    const of = hasRated() && sections.some((each) => shows[each.dataset.recompute]?.of === debated) ? debated : judged;
    const compute = of === debated ? "headToHead" : "judgeSides";
    const found = debatebench.filtered[compute](data, computable(state));
    const chosen = listKinds.flatMap((kind) => {
      const names = data[lists[kind]];
      const out = names.filter((each) => state.out[kind].has(each));
      const kept = names.filter((each) => !state.out[kind].has(each));
      if (out.length === 0) {
        return [];
      }
      const isShorter = kept.length > 0 && kept.length <= out.length;
      return ["; ", `${isShorter ? "only" : "without"} ${kind} `, ...listed(isShorter ? kept : out)];
    });
    if (state.side !== null) {
      chosen.push("; ", `results as ${state.side}`);
    }
    return [element("strong", {}, `${countText(found, of)} counted`), ...chosen, ". "];
  };

  const showStatus = () => {
    status.replaceChildren();
    if (state.unknown.length > 0) {
      status.append("Not in this run, and ignored: ", ...listed(state.unknown), ". ");
    }
    if (isActive(state)) {
      status.append(
        ...summary(),
        "Sections marked “Recomputed” follow the filter; all other numbers, also those above, count all debates of the run. ",
        resetLink(),
      );
    }
  };

  const resetLink = () => {
    const link = element("a", { href: "#" }, "Reset the filter");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      change(nothing());
      details.querySelector("summary").focus({ preventScroll: true });
    });
    return link;
  };

  // The other pages of the run that can be filtered are opened with the same filter.
  const passOn = () => {
    for (const link of document.querySelectorAll(".tabs a")) {
      if (others.has(new URL(link.href).pathname)) {
        link.hash = written(state);
      }
    }
  };

  const unfiltered = (what) =>
    element("p", { class: "unfiltered" }, `Not filtered: this ${what} counts all debates of the run.`);

  // Ratings follow from debates of two sides only; a run without one has nothing to compute again.
  const follows = (kind) => kind in shows && (shows[kind].of === judged || hasRated());
  const hasRated = () => data.columns.rated === null || data.columns.rated.includes(1);

  const show = () => {
    showState();
    showStatus();
    passOn();
    document.querySelectorAll(".recomputed, .unfiltered").forEach((each) => each.remove());
    const filter = computable(state);
    for (const section of sections) {
      const kind = section.dataset.recompute;
      const heading = Array.from(section.children).find((child) => child.matches("h2") || child.querySelector("h2"));
      section.classList.toggle("is-recomputed", isActive(state) && follows(kind));
      if (isActive(state)) {
        heading.after(follows(kind) ? recomputed(section, kind, filter, state) : unfiltered("section"));
      }
    }
    if (isActive(state)) {
      document.getElementById("answer")?.after(unfiltered("answer"));
    }
  };

  const change = (wanted) => {
    state = wanted;
    const text = written(state);
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
    show();
  };
  const changed = () => change(readForm());

  const goTo = (anchor) => anchor && document.getElementById(anchor)?.scrollIntoView();

  const followAddress = () => {
    const { hash } = location;
    // A link to a section keeps the filter, and joins it in the address.
    if (state && isActive(state) && hash.length > 1 && !hash.includes("=")) {
      history.replaceState(null, "", `#${written(state, decodeURIComponent(hash.slice(1)))}`);
      return;
    }
    state = readState();
    show();
    goTo(parts().get("at"));
  };

  let isStarting = false;
  const start = async () => {
    if (isStarting) {
      return;
    }
    isStarting = true;
    status.replaceChildren("Loading the outcomes of debates…");
    try {
      data = await debatebench.load(place.dataset.outcomes);
    } catch (error) {
      status.replaceChildren(`The debates cannot be filtered: ${error.message}`);
      isStarting = false;
      return;
    }
    status.replaceChildren();
    if (data.rule === null) {
      details.append(note("Panels of this warehouse decide by a rule of its own, which a page cannot apply."));
      return;
    }
    makeForm();
    followAddress();
    addEventListener("hashchange", followAddress);
  };

  details.addEventListener("toggle", () => details.open && start());
  const startIfAsked = () => {
    if (asksForFilter()) {
      details.open = true;
    }
  };
  addEventListener("hashchange", startIfAsked);
  startIfAsked();
})();
