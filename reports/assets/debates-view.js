// One debate: what was said, beside what judges and people made of it.
"use strict";

debatebench.debates.view = (() => {
  const { element, marked, winnerMark, counted, dollars, lists } = debatebench.debates;
  const LONGEST = 20_000;
  let ids = 0;

  const number = (value) => String(Math.round(value * 100) / 100);

  // A text to read. Of a very long one the beginning is shown until somebody asks for all of it.
  const said = (text, terms) => {
    const box = element("div", { class: "said", dir: "auto" }, marked(text.slice(0, LONGEST), terms));
    if (text.length <= LONGEST) {
      return box;
    }
    const more = element("button", { type: "button" }, `Show ${counted(text.length - LONGEST, "more character")}`);
    more.addEventListener("click", () => {
      box.replaceChildren(...marked(text, terms).map((part) => (part instanceof Node ? part : document.createTextNode(part))));
      more.remove();
    });
    return [box, more];
  };

  const permalink = (href, name) =>
    element("a", { class: "permalink", href, "aria-label": `Link to ${name}` }, "#");

  const facts = (pairs) =>
    element(
      "dl",
      { class: "facts" },
      pairs
        .filter(([, value]) => value !== null && value !== undefined && value !== "")
        .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", { dir: "auto" }, value))),
    );

  const table = (caption, headings, lines) => {
    const scroll = element(
      "div",
      { class: "scroll", role: "region", tabIndex: 0, "aria-label": caption },
      element(
        "table",
        {},
        element("caption", {}, caption),
        element("thead", {}, element("tr", {}, headings.map((each) => element("th", { scope: "col", dir: "auto" }, each)))),
        element(
          "tbody",
          {},
          lines.map(([first, ...cells]) =>
            element(
              "tr",
              {},
              element("th", { scope: "row", dir: "auto" }, first),
              cells.map((cell) => element("td", { dir: "auto" }, cell)),
            ),
          ),
        ),
      ),
    );
    return scroll;
  };

  // --- what was said ---------------------------------------------------------------------------------------------------

  const speakerOf = (turn) => {
    const isSide = ["PRO", "CON"].includes(String(turn.position).toUpperCase());
    const name = turn.debater === turn.position ? null : turn.debater;
    return isSide ? (turn.debater ?? turn.position) : [turn.position, name].filter(Boolean).join(" ");
  };

  const speech = (turn, context) => {
    const label = `speech ${turn.turn + 1}`;
    const isSide = turn.side === "pro" || turn.side === "con";
    return element(
      "article",
      { class: isSide ? `speech side-${turn.side}` : "speech", "data-turn": turn.turn, tabIndex: -1 },
      element(
        context.heading(2),
        {},
        turn.side && element("span", { class: "side" }, turn.side),
        element("span", { class: "speaker", dir: "auto" }, speakerOf(turn)),
        turn.stage && element("span", { class: "stage" }, turn.stage),
        permalink(context.linkOf({ turn: turn.turn + 1 }), label),
      ),
      turn.task ? element("p", { class: "note", dir: "auto" }, `Its task by the format: ${turn.task}`) : null,
      turn.text?.trim() ? said(turn.text, context.terms) : element("p", { class: "note" }, "This speech is empty."),
      turn.isCut ? element("p", { class: "note" }, "This turn hit its token limit.") : null,
      context.calls?.((call) => call.step === `turn:${turn.turn}`, true),
    );
  };

  // --- what judges and people made of it -------------------------------------------------------------------------------

  const winnerOf = (verdict) => verdict.winner ?? "not usable";

  const scoreTable = (caption, verdicts, name) => {
    const dimensions = Array.from(new Set(verdicts.flatMap((each) => each.dimensions ?? [])));
    const score = (verdict, dimension) => {
      const place = (verdict.dimensions ?? []).indexOf(dimension);
      return place < 0 ? "–" : `${number(verdict.pro[place])} : ${number(verdict.con[place])}`;
    };
    return table(
      caption,
      ["Dimension", ...verdicts.map(name)],
      [
        ["Winner", ...verdicts.map((each) => (each.winner ? winnerMark(each.winner) : "not usable"))],
        ...dimensions.map((dimension) => [dimension, ...verdicts.map((each) => score(each, dimension))]),
      ],
    );
  };

  const verdictRemarks = (verdict) =>
    [
      verdict.isBaseline ? "a rule, without a vote" : verdict.method,
      verdict.first ? `read ${verdict.first} first` : null,
      verdict.winner === null && verdict.declared ? `declared ${verdict.declared}` : null,
      verdict.winner === null && verdict.invalidReason ? verdict.invalidReason : null,
      verdict.declared && verdict.winner && verdict.declared !== verdict.winner && !verdict.isBaseline
        ? `declared ${verdict.declared}, against its scores`
        : null,
      verdict.asks > 1 ? `asked ${verdict.asks} times` : null,
      verdict.replaces ? `in place of ${verdict.replaces}` : null,
      verdict.isRepaired ? "its answer was mended" : null,
      verdict.isSuspected ? "a speech may have given it instructions" : null,
      verdict.tokens === null ? null : counted(verdict.tokens, "token"),
      verdict.cost === null ? null : dollars(verdict.cost),
    ].filter(Boolean);

  const verdictCard = (verdict, notes, context) => {
    const own = notes.filter((note) => note.judge === verdict.judge);
    const fold = own.length
      ? element(
          "details",
          { class: "notes" },
          element("summary", {}, `What it wrote (${counted(own.length, "note")})`),
          own.map((note) => [
            element(context.heading(3), { dir: "auto" }, note.title),
            note.text ? said(note.text, context.terms) : null,
          ]),
        )
      : null;
    if (fold?.querySelector("mark")) {
      fold.open = true;
    }
    return element(
      "article",
      { class: "verdict", "data-judge": verdict.judge, tabIndex: -1 },
      element(
        context.heading(2),
        {},
        element("span", { class: "speaker", dir: "auto" }, verdict.judge),
        winnerMark(winnerOf(verdict)),
        permalink(context.linkOf({ judge: verdict.judge }), `the verdict of ${verdict.judge}`),
      ),
      element("p", { class: "note", dir: "auto" }, verdictRemarks(verdict).join(" · ")),
      fold,
      context.calls?.((call) => call.judge === verdict.judge, false),
    );
  };

  const person = (each, context) =>
    element(
      "article",
      { class: "verdict person" },
      element(
        context.heading(2),
        {},
        element("span", { class: "speaker", dir: "auto" }, each.person),
        each.winner ? winnerMark(each.winner) : element("span", {}, each.places ?? "no winner"),
      ),
      each.teamScores ? element("p", { class: "note" }, each.teamScores) : null,
      each.confidence === null ? null : element("p", { class: "note" }, `confidence ${each.confidence} of 5`),
      each.isCoherent === false ? element("p", { class: "note" }, "not fit to be judged") : null,
      each.text ? said(each.text, context.terms) : null,
    );

  const verdictsOf = (texts, context) => {
    const parts = [];
    if (texts.verdicts.length) {
      parts.push(scoreTable(`Winners and scores, for pro and for con${context.of}`, texts.verdicts, (each) => each.judge));
      parts.push(texts.verdicts.map((each) => verdictCard(each, texts.notes, context)));
    } else {
      parts.push(element("p", { class: "empty" }, "No verdicts."));
    }
    if (texts.people.length) {
      parts.push(element(context.heading(1), {}, "Human verdicts"));
      if (texts.people.some((each) => each.dimensions?.length)) {
        parts.push(scoreTable(`Winners and scores of people, for pro and for con${context.of}`, texts.people, (each) => each.person));
      }
      parts.push(texts.people.map((each) => person(each, context)));
    }
    if (texts.gold.length) {
      parts.push(element(context.heading(1), {}, "External verdicts"));
      parts.push(
        table(
          `External verdicts${context.of}`,
          ["Verdict on", "Winner", "Votes"],
          texts.gold.map((each) => [
            each.unit === "winner" ? "the debate" : each.unit,
            each.positions ?? (each.winner ? winnerMark(each.winner) : "–"),
            each.votes ?? "–",
          ]),
        ),
      );
    }
    return parts;
  };

  // --- the debate ------------------------------------------------------------------------------------------------------

  const column = (list, name, at) => list[name][at];
  const coded = (list, name, at) => list[name].values[list[name].codes[at]] ?? null;

  // What everybody in the debate and its judges knew besides the motion.
  const slide = (all, at, context) => {
    const text = all.slide(at);
    if (!text) {
      return null;
    }
    return element(
      "section",
      { class: "speech slide" },
      element(context.heading(1), {}, "Information slide"),
      element("p", { class: "note" }, "Both sides and the judges knew it."),
      said(text, context.terms),
    );
  };

  const outcome = (all, at, texts) => {
    const list = all.list(at);
    const own = all.number(at);
    const status = coded(list, "status", own);
    const reason = coded(list, "reason", own);
    const votes = list.votes[own];
    const count = (letter) => votes.split(letter).length - 1;
    const made = column(list, "created", own);
    const scores = ["proScore", "conScore"].map((name) => column(list, name, own));
    const recorded = { p: "pro", c: "con", t: "tie" }[list.recorded[own]];
    const missing = (column(list, "expected", own) ?? 0) - texts.verdicts.length;
    const [pro, con] = all.sides(at);
    return facts([
      ["Winner", winnerMark(all.winnerName(at))],
      ["Winning team", all.firstTeams.get(at)],
      ["Votes for pro · neither · con", votes.length ? `${count("p")} · ${count("t")} · ${count("c")}` : null],
      ["Missing verdicts", missing > 0 && status === "complete" ? `${missing} of ${column(list, "expected", own)}` : null],
      ["Pro", pro],
      ["Con", con],
      [all.teams.has(at) ? "Mean scores of the better team, pro : con" : "Mean scores, pro : con", scores.includes(null) ? null : `${number(scores[0])} : ${number(scores[1])}`],
      ["Category", all.names.category.values[all.category[at]]],
      ["Winner in the source", recorded ? winnerMark(recorded) : null],
      ["Status", status === "complete" ? null : [status, reason].filter(Boolean).join(": ")],
      ["Trial", column(list, "trial", own)],
      ["Tokens", column(list, "tokens", own)?.toLocaleString("en")],
      ["Known cost", Number.isNaN(all.cost[at]) ? null : dollars(all.cost[at])],
      ["Made", made === null ? null : new Date(made * 1000).toISOString().slice(0, 16).replace("T", " ")],
      ["Run", all.runTag(at)],
      ["Id", all.id(at)],
    ]);
  };

  const remarks = (all, at, context) => {
    const parts = [];
    const flags = all.names.flags.values[all.flags[at]];
    if (flags) {
      parts.push(`This debate may not be fit to be judged: ${flags.map((each) => lists.FLAGS[each] ?? each).join(" · ")}.`);
    }
    const weaknesses = all.names.weaknesses.values[all.weaknesses[at]];
    if (weaknesses) {
      const words = weaknesses.map(([side, type, dimension]) =>
        [`${lists.words(type)} in ${side}'s speeches`, dimension && `which should lower ${lists.words(dimension)}`]
          .filter(Boolean)
          .join(", "),
      );
      parts.push(`Injected weakness: ${words.join("; ")}.`);
    }
    const list = all.list(at);
    const sourceId = list.sourceIds[all.number(at)];
    if (sourceId !== undefined) {
      const run = coded(list, "sourceRun", all.number(at));
      const source = all.source(at);
      const name = `debate ${sourceId} of run ${run}`;
      parts.push([
        "Speeches are those of ",
        source >= 0 ? element("a", { href: context.open(source) }, name) : name,
        ".",
      ]);
    }
    const again = all.judgedAgain(at);
    if (again.length) {
      parts.push([
        "Judged again: ",
        again
          .slice(0, 20)
          .flatMap((each, place) => [
            place ? ", " : null,
            element("a", { href: context.open(each) }, `run ${all.runTag(each)}, trial ${trialOf(all, each)}`),
          ]),
        again.length > 20 ? ` and ${again.length - 20} more` : null,
        ". ",
        element("a", { href: context.beside(again[0]) }, "Show the first beside this one"),
      ]);
    }
    return parts.map((part) => element("p", { class: "note remark", dir: "auto" }, part));
  };

  const trialOf = (all, at) => all.list(at).trial[all.number(at)] ?? 1;

  const settings = (all, at, context) => {
    const list = all.list(at);
    const run = all.runs[all.run[at]];
    const lines = [
      ...(run.benchmark ? [["benchmark", run.benchmark]] : []),
      ["rules of the format", all.formatRules[coded(list, "format", all.number(at))]],
      ...list.settings.map(([item, part, value]) => [`${item.replaceAll("_", " ")}: ${part}`, value]),
      ...list.debaterFacts.map(([id, provider, model]) => [`debater ${id}`, [provider, model].filter(Boolean).join(" · ")]),
      ...list.judgeFacts.map(([id, provider, model, method]) => [
        `judge ${id}`,
        [provider, model, method].filter(Boolean).join(" · "),
      ]),
      ...list.dimensions.map(([name, least, most]) => [`dimension ${name}`, least === null ? "" : `${number(least)} to ${number(most)}`]),
    ];
    const fold = element("details", { class: "settings" }, element("summary", {}, `Settings of run ${run.tag}`));
    fold.addEventListener(
      "toggle",
      () =>
        fold.append(
          table(`Settings of run ${run.tag}${context.of}`, ["Setting", "Value"], lines.map(([name, value]) => [name, value || "–"])),
          element("p", { class: "note" }, all.notShown),
        ),
      { once: true },
    );
    return fold;
  };

  const seats = (texts, context) =>
    texts.seats.length
      ? table(
          `Positions${context.of}`,
          ["Position", "Side", "Debater", "Place", "Named as winner", "Mean score"],
          texts.seats.map((seat) => [
            seat.position,
            seat.side,
            seat.debater,
            seat.place === null ? "–" : number(seat.place),
            seat.judges === null ? "–" : `by ${seat.named} of ${seat.judges}`,
            seat.score === null ? "–" : number(seat.score),
          ]),
        )
      : null;

  // A debate as an element. `level` is that of its title; `context` makes links, and knows which words are searched.
  const debate = (all, at, texts, { level, terms, linkOf, open, beside, calls, startsWithVerdicts }) => {
    ids += 1;
    const id = `debate-${ids}`;
    // Two debates side by side have tables of the same kinds, which need names of their own.
    const of = startsWithVerdicts ? `, debate ${all.id(at)} of run ${all.runTag(at)}` : "";
    const context = { of, terms, linkOf, open, beside, calls, heading: (deeper) => `h${level + deeper}` };
    const title = element("h" + level, { id: `${id}-title`, class: "debate-title", dir: "auto", tabIndex: -1 }, marked(all.motion(at), terms));
    const parts = [
      element(
        "div",
        { class: "speeches" },
        element(context.heading(1), {}, "Speeches"),
        texts.turns.length
          ? texts.turns.map((turn) => speech(turn, context))
          : element("p", { class: "empty" }, "No speeches."),
      ),
      element(
        "div",
        { class: "verdicts" },
        element(context.heading(1), {}, "Verdicts"),
        verdictsOf(texts, context),
      ),
    ];
    return element(
      "article",
      { class: "debate", "aria-labelledby": `${id}-title` },
      title,
      element("p", { class: "against", dir: "auto" }, all.opponents(at)),
      outcome(all, at, texts),
      remarks(all, at, context),
      seats(texts, context),
      slide(all, at, context),
      element("div", { class: "reading" }, startsWithVerdicts ? parts.reverse() : parts),
      settings(all, at, context),
    );
  };

  // The requests that led to a speech or verdict, with their raw replies. They are loaded when the fold is opened.
  const callsFold = (load) => {
    const fold = element("details", { class: "calls" }, element("summary", {}, "Requests and raw replies"));
    const show = async () => {
      const calls = await load();
      fold.append(
        ...calls.map((call) =>
          element(
            "div",
            { class: "call" },
            element(
              "p",
              { class: "note", dir: "auto" },
              [
                call.step,
                `attempt ${call.attempt}`,
                call.status,
                call.httpStatus && `HTTP ${call.httpStatus}`,
                [call.provider, call.model].filter(Boolean).join(" · "),
                call.sent && `sent ${call.sent}`,
                call.duration === null ? null : `${(call.duration / 1000).toFixed(1)} s`,
                call.promptTokens === null ? null : counted(call.promptTokens, "prompt token"),
                call.completionTokens === null ? null : counted(call.completionTokens, "completion token"),
                call.cost === null ? null : dollars(call.cost),
                call.finish && `finish reason ${call.finish}`,
                call.error,
                call.request && `SHA-256 of the request ${call.request}`,
              ]
                .filter(Boolean)
                .join(" · "),
            ),
            call.reply ? said(call.reply, []) : null,
          ),
        ),
        calls.length ? "" : element("p", { class: "note" }, "No request is recorded."),
      );
    };
    fold.addEventListener(
      "toggle",
      () => show().catch((error) => fold.append(element("p", { role: "alert" }, error.message))),
      { once: true },
    );
    return fold;
  };

  return { debate, callsFold };
})();
