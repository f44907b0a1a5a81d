// The page of all debates: its state is in the fragment of its address, so each view has a link, and back and forward work.
"use strict";

(() => {
  const { element, visible, counted, termsOf, lists, search, view } = debatebench.debates;
  const $ = (id) => document.getElementById(id);
  const pageTitle = document.title;
  let all = null;
  let list = null;
  let filters = null;
  // What is shown: the filters that the list has been drawn with, the debates in its order, and the debate that is open.
  let drawn = { key: null, order: [], opened: -1 };
  let turn = 0;

  // --- the address -----------------------------------------------------------------------------------------------------

  const decoded = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };

  const parse = (hash) => {
    const given = new Map();
    for (const part of hash.replace(/^#/, "").split("&")) {
      const [, name, value] = /^([^=]*)=?(.*)$/s.exec(part);
      if (name) {
        given.set(decoded(name), decoded(value));
      }
    }
    const state = { filters: new Map(), debate: null };
    for (const name of lists.NAMES) {
      if (given.has(name) && (given.get(name) !== "" || name === "category")) {
        state.filters.set(name, given.get(name));
      }
    }
    if (given.has("debate")) {
      state.debate = Object.fromEntries(["run", "debate", "turn", "judge", "beside"].map((name) => [name, given.get(name) ?? null]));
      // The list that the debate was opened from; an empty text is that of all runs.
      const from = given.get("list");
      if (from === "") {
        state.filters.delete("run");
      } else if (from !== undefined) {
        state.filters.set("run", from);
      }
    }
    return state;
  };

  const written = (state) => {
    const pairs = [];
    const others = new Map(state.filters);
    if (state.debate) {
      for (const [name, value] of Object.entries(state.debate)) {
        if (value !== null && value !== undefined) {
          pairs.push([name, value]);
        }
      }
      if ((others.get("run") ?? "") !== state.debate.run) {
        pairs.push(["list", others.get("run") ?? ""]);
      }
      others.delete("run");
    }
    pairs.push(...others);
    return `#${pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}`;
  };

  const go = (state, { replaces = false } = {}) => {
    const hash = written(state);
    if (replaces) {
      location.replace(hash);
    } else {
      location.hash = hash;
    }
  };

  // The state that the page is in. A link to a part of the page, such as "skip to content", does not change it.
  let address = location.hash;
  const isState = (hash) => hash.length < 2 || hash.includes("=");

  const debateState = (at, more = {}) => ({
    filters: parse(address).filters,
    debate: { run: all.runTag(at), debate: all.id(at), ...more },
  });

  const linkOf = (at, more) => written(debateState(at, more));

  // --- the list --------------------------------------------------------------------------------------------------------

  const change = (changed, { isTyped = false } = {}) => {
    const state = parse(address);
    state.debate = null;
    if (changed === null) {
      state.filters.clear();
      filters.search.value = "";
    }
    for (const [name, value] of Object.entries(changed ?? {})) {
      const isNone = value === null || (value === "" && name !== "category");
      if (isNone) {
        state.filters.delete(name);
      } else {
        state.filters.set(name, value);
      }
    }
    if (!state.filters.has("debater")) {
      ["side", "result", "opponent"].forEach((name) => state.filters.delete(name));
    }
    if (!state.filters.has("panel")) {
      state.filters.delete("vote");
    }
    const old = parse(address);
    if (written(state) !== written({ ...old, debate: null }) || changed === null) {
      go(state, { replaces: isTyped && old.filters.has("q") });
    }
  };

  const orderOf = async (state) => {
    const hits = state.filters.has("q") ? await search.search(all, state.filters.get("q")) : null;
    const { found, counts } = lists.filtered(all, state.filters, hits);
    return { order: lists.sorted(all, found, state.filters.get("sort")), counts };
  };

  const keyOf = (state) => JSON.stringify(Array.from(state.filters));

  // Filters and sorts if that is not done yet. Returns false if another view was asked for meanwhile.
  const prepare = async (state, own) => {
    const key = keyOf(state);
    if (drawn.key === key) {
      return true;
    }
    const { order, counts } = await orderOf(state);
    if (own !== turn) {
      return false;
    }
    drawn = { key, order, counts, opened: drawn.opened };
    $("found").textContent = `${order.length.toLocaleString("en")} of ${counted(all.count, "debate")}`;
    $("none").hidden = order.length > 0 || all.count === 0;
    $("empty").hidden = all.count > 0;
    filters.show(all, state.filters, counts);
    list.show(all, order);
    return true;
  };

  const showList = () => {
    const opened = drawn.opened;
    drawn.opened = -1;
    document.title = pageTitle;
    document.body.classList.remove("reads");
    $("one").hidden = true;
    $("one").replaceChildren();
    $("browse").hidden = false;
    if (opened >= 0) {
      list.focus(opened);
    } else {
      list.redraw();
    }
  };

  // --- one debate ------------------------------------------------------------------------------------------------------

  const step = (at, label, more) =>
    at === undefined
      ? null
      : element(
          "a",
          { class: "step", href: linkOf(at), ...more },
          element("span", {}, `${label}: `),
          element("span", { dir: "auto" }, all.opponents(at)),
        );

  const walk = (at, state) => {
    const place = drawn.order.indexOf(at);
    const where = place < 0 ? "not in the list" : `${(place + 1).toLocaleString("en")} of ${drawn.order.length.toLocaleString("en")}`;
    return element(
      "nav",
      { class: "walk", "aria-label": "Debates" },
      element("a", { class: "step", id: "back", href: written({ filters: state.filters, debate: null }) }, "Back to the list"),
      element("span", { class: "note" }, where),
      place > 0 ? step(drawn.order[place - 1], "Previous", { rel: "prev" }) : null,
      place >= 0 ? step(drawn.order[place + 1], "Next", { rel: "next" }) : null,
    );
  };

  const shownDebate = async (at, state, more, startsWithVerdicts = false) => {
    const texts = await lists.textsOf(all, at);
    // Speeches of a debate that is judged again were asked for in its source.
    const source = all.source(at);
    const calls = (isWanted, isSpeech) => {
      const held = isSpeech && source >= 0 ? source : at;
      return view.callsFold(async () => (await lists.callsOf(all, held)).filter(isWanted));
    };
    return view.debate(all, at, texts, {
      level: 2,
      startsWithVerdicts,
      calls: all.list(at).callStarts ? calls : undefined,
      terms: termsOf(state.filters.get("q") ?? ""),
      linkOf: (target) => linkOf(at, { ...more, ...target }),
      open: (other) => linkOf(other),
      beside: (other) => linkOf(at, { beside: `${all.runTag(other)}/${all.id(other)}` }),
    });
  };

  // The debate that `beside` names: everything up to some slash is its run.
  const findBeside = (name) => {
    for (let slash = name.indexOf("/"); slash >= 0; slash = name.indexOf("/", slash + 1)) {
      const at = all.find(name.slice(0, slash), name.slice(slash + 1));
      if (at >= 0) {
        return at;
      }
    }
    return -1;
  };

  const problem = (text, state) =>
    element(
      "div",
      { class: "empty", role: "alert" },
      element("p", {}, text),
      element("p", {}, element("a", { href: written({ filters: state.filters, debate: null }) }, "Show the list of debates")),
    );

  const target = (state) => {
    const { turn: number, judge } = state.debate;
    const within = $("one");
    if (number !== null) {
      return within.querySelector(`[data-turn="${Number(number) - 1}"]`);
    }
    return judge === null ? null : Array.from(within.querySelectorAll("[data-judge]")).find((each) => each.dataset.judge === judge);
  };

  const showDebate = async (state, own) => {
    const at = all.find(state.debate.run, state.debate.debate);
    const box = $("one");
    if (at < 0) {
      box.replaceChildren(problem(`No debate ${state.debate.debate} in run ${state.debate.run ?? "(none is named)"}.`, state));
      $("browse").hidden = true;
      box.hidden = false;
      return;
    }
    const parts = [walk(at, state)];
    const other = state.debate.beside === null ? -1 : findBeside(state.debate.beside);
    if (other >= 0) {
      const first = await shownDebate(at, state, { beside: state.debate.beside }, true);
      const second = await shownDebate(other, state, {}, true);
      parts.push(element("p", {}, element("a", { href: linkOf(at) }, "Show only the first debate")));
      parts.push(element("div", { class: "two" }, first, second));
    } else {
      if (state.debate.beside !== null) {
        parts.push(element("p", { class: "note", role: "alert" }, `No debate ${state.debate.beside} to show beside this one.`));
      }
      parts.push(await shownDebate(at, state, {}));
    }
    if (own !== turn) {
      return;
    }
    drawn.opened = at;
    box.replaceChildren(...parts);
    $("browse").hidden = true;
    box.hidden = false;
    document.body.classList.add("reads");
    document.title = `${visible(all.motion(at)).slice(0, 120)} · ${pageTitle}`;
    const aim = target(state);
    const fold = aim?.querySelector("details.notes");
    if (fold) {
      fold.open = true;
    }
    box.querySelectorAll(".is-target").forEach((each) => each.classList.remove("is-target"));
    aim?.classList.add("is-target");
    const focused = aim ?? box.querySelector(".debate-title");
    focused.focus({ preventScroll: true });
    if (aim) {
      aim.scrollIntoView({ block: "start" });
    } else {
      window.scrollTo(0, 0);
    }
  };

  // --- the page --------------------------------------------------------------------------------------------------------

  const show = async () => {
    if (isState(location.hash)) {
      address = location.hash;
    } else if (drawn.key !== null) {
      return;
    }
    turn += 1;
    const own = turn;
    const state = parse(address);
    document.body.setAttribute("aria-busy", "true");
    try {
      if (await prepare(state, own)) {
        await (state.debate ? showDebate(state, own) : showList());
      }
      $("problem").hidden = true;
    } catch (error) {
      $("problem").textContent = visible(`The debates cannot be shown: ${error.message}`);
      $("problem").hidden = false;
    } finally {
      if (own === turn) {
        document.body.setAttribute("aria-busy", "false");
      }
    }
  };

  const isTyping = (at) => at instanceof Element && at.closest("input, select, textarea, summary, .scroll") !== null;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || $("one").hidden || isTyping(event.target)) {
      return;
    }
    const link = { Escape: "#back", ArrowLeft: '[rel="prev"]', ArrowRight: '[rel="next"]' }[event.key];
    const found = link && $("one").querySelector(link);
    if (found) {
      event.preventDefault();
      location.hash = found.getAttribute("href");
    }
  });

  const begin = async () => {
    try {
      all = await lists.loadAll();
    } catch (error) {
      $("problem").textContent = visible(`The debates cannot be loaded: ${error.message}`);
      $("problem").hidden = false;
      return;
    }
    filters = debatebench.debates.makeFilters($("filters"), change);
    list = debatebench.debates.makeList($("list"), {
      linkOf: (at) => linkOf(at),
      open: (at) => go(debateState(at)),
    });
    $("loading").hidden = true;
    $("browse").hidden = false;
    window.addEventListener("hashchange", show);
    await show();
  };

  begin();
})();
