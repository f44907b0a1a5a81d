// The lists of all runs as columns, and which of their debates have what is asked for.
"use strict";

debatebench.debates.lists = (() => {
  const WINNERS = { p: 0, c: 1, t: 2, n: 3 };
  // The positions of four teams, in the order in which their debaters are listed.
  const SEATS = ["OG", "OO", "CG", "CO"];
  const WINNER_NAMES = ["pro", "con", "tie", "none"];
  const FLAGS = {
    turns: "turns missing or not as planned",
    empty_speech: "empty speech",
    cut_speech: "speech cut off at its limit",
    short_speech: "very short speech",
    repeated_speech: "speech repeated",
    language: "speech in another script",
    length: "much longer or shorter than the others",
    judges: "judges object",
    annotators: "annotators object",
    wrong_side: "a speaker on the wrong side",
  };

  // Values that several runs share, each with one code. Codes below 0 are no value.
  class Names {
    constructor() {
      this.values = [];
      this.places = new Map();
    }

    code(key, value = key) {
      if (key === null || key === undefined) {
        return -1;
      }
      if (!this.places.has(key)) {
        this.places.set(key, this.values.length);
        this.values.push(value);
      }
      return this.places.get(key);
    }
  }

  // All debates of the site, numbered from 0 through all runs.
  class Debates {
    constructor(catalogue, lists) {
      this.fields = catalogue.fields;
      this.runs = catalogue.runs;
      this.formatRules = catalogue.formatRules;
      this.notShown = catalogue.notShown;
      this.lists = lists;
      this.bases = [];
      let count = 0;
      for (const list of lists) {
        this.bases.push(count);
        count += list.ids.length;
      }
      this.count = count;
      this.names = Object.fromEntries(
        ["debater", "topic", "category", "flags", "weaknesses", "panel", "status"].map((name) => [name, new Names()]),
      );
      this.run = new Uint16Array(count);
      for (const name of ["pro", "con", "topic", "category", "flags", "weaknesses", "panel", "status", "agreement"]) {
        this[name] = new Int32Array(count);
      }
      for (const name of ["winner", "split", "rated"]) {
        this[name] = new Uint8Array(count);
      }
      for (const name of ["cost", "gap", "created", "tokens"]) {
        this[name] = new Float64Array(count);
      }
      this.votes = [];
      this.teams = new Map();
      this.firstTeams = new Map();
      lists.forEach((list, run) => this.add(list, run));
      this.places = null;
    }

    add(list, run) {
      const base = this.bases[run];
      const codes = (name, values, key = (value) => value) => values.map((each) => this.names[name].code(key(each), each));
      const debaters = codes("debater", list.debaters);
      const topics = codes("topic", list.topics.values, (topic) => JSON.stringify(topic));
      const categories = list.topics.values.map(([, , category]) => this.names.category.code(category));
      const coded = {
        flags: codes("flags", list.flags.values, (each) => each.join(" ")),
        weaknesses: codes("weaknesses", list.weaknesses.values, (each) => JSON.stringify(each)),
        panel: codes("panel", list.panels.values, (each) => JSON.stringify(each)),
        status: codes("status", list.status.values),
      };
      const sources = { flags: list.flags, weaknesses: list.weaknesses, panel: list.panels, status: list.status };
      list.ids.forEach((_, number) => {
        const at = base + number;
        this.run[at] = run;
        this.pro[at] = debaters[list.pro[number]] ?? -1;
        this.con[at] = debaters[list.con[number]] ?? -1;
        this.topic[at] = topics[list.topics.codes[number]] ?? -1;
        this.category[at] = categories[list.topics.codes[number]] ?? -1;
        for (const [name, column] of Object.entries(sources)) {
          this[name][at] = coded[name][column.codes[number]] ?? -1;
        }
        this.winner[at] = WINNERS[list.winner[number]];
        this.rated[at] = list.rated[number] === "1" ? 1 : 0;
        const votes = list.votes[number];
        const kinds = new Set(votes.replaceAll("n", ""));
        this.split[at] = kinds.size > 1 ? 1 : 0;
        this.agreement[at] = votes.length > 1 ? this.split[at] : -1;
        this.cost[at] = list.cost[number] ?? NaN;
        this.tokens[at] = list.tokens[number] ?? NaN;
        this.created[at] = list.created[number] ?? NaN;
        const [pro, con] = [list.proScore[number], list.conScore[number]];
        this.gap[at] = pro === null || con === null ? NaN : Math.abs(pro - con);
        this.votes.push(votes);
      });
      for (const [number, teams] of Object.entries(list.teams)) {
        this.teams.set(base + Number(number), teams.map((code) => debaters[code]));
      }
      for (const [number, teams] of Object.entries(list.firstTeams)) {
        this.firstTeams.set(base + Number(number), teams);
      }
    }

    list(at) {
      return this.lists[this.run[at]];
    }

    number(at) {
      return at - this.bases[this.run[at]];
    }

    id(at) {
      return this.list(at).ids[this.number(at)];
    }

    runTag(at) {
      return this.runs[this.run[at]].tag;
    }

    motion(at) {
      const [id, motion] = this.names.topic.values[this.topic[at]];
      return motion ?? id;
    }

    // The information slide of a debate's topic, or undefined.
    slide(at) {
      const [id] = this.names.topic.values[this.topic[at]];
      return this.list(at).slides.find(([topic]) => topic === id)?.[1];
    }

    // The debaters of a debate, pro first; of four teams, their positions.
    sides(at) {
      const name = (code) => (code < 0 ? null : this.names.debater.values[code]);
      return [name(this.pro[at]), name(this.con[at])];
    }

    opponents(at) {
      const [pro, con] = this.sides(at);
      if (pro !== null || con !== null) {
        return `${pro ?? "nobody"} against ${con ?? "nobody"}`;
      }
      const teams = this.teams.get(at);
      if (!teams) {
        return "debaters not known";
      }
      const named = (debater, place) =>
        teams.length !== SEATS.length || debater === SEATS[place] ? debater : `${SEATS[place]} ${debater}`;
      return teams.map((code, place) => named(this.names.debater.values[code], place)).join(", ");
    }

    winnerName(at) {
      return WINNER_NAMES[this.winner[at]];
    }

    // The number of a debate, or -1.
    find(runTag, id) {
      if (this.places === null) {
        this.places = new Map();
        for (let at = this.count - 1; at >= 0; at -= 1) {
          this.places.set(JSON.stringify([this.runTag(at), this.id(at)]), at);
        }
      }
      return this.places.get(JSON.stringify([runTag, id])) ?? -1;
    }

    // The number of the debate whose speeches a debate has, if that is one of the site; else -1.
    source(at) {
      const list = this.list(at);
      const id = list.sourceIds[this.number(at)];
      const run = list.sourceRun.values[list.sourceRun.codes[this.number(at)]];
      return id === undefined ? -1 : this.find(run, id);
    }

    // The debates that judge the speeches of a debate again.
    judgedAgain(at) {
      const found = [];
      const [tag, id] = [this.runTag(at), this.id(at)];
      this.lists.forEach((list, run) => {
        if (!list.sourceRun.values.includes(tag)) {
          return;
        }
        for (const [number, source] of Object.entries(list.sourceIds)) {
          if (source === id && list.sourceRun.values[list.sourceRun.codes[number]] === tag) {
            found.push(this.bases[run] + Number(number));
          }
        }
      });
      return found;
    }
  }

  // --- filters ---------------------------------------------------------------------------------------------------------

  const one = (names, test) => names.values.map((value) => (test(value) ? 1 : 0));

  // The test of each filter: whether a debate has the value that is asked for.
  const TESTS = {
    run: (all, value) => (at) => all.runs[all.run[at]].tag === value,
    debater: (all, value, filters) => {
      const code = all.names.debater.places.get(value) ?? -2;
      const side = filters.get("side");
      return (at) =>
        (side !== "con" && all.pro[at] === code) ||
        (side !== "pro" && all.con[at] === code) ||
        (!side && (all.teams.get(at)?.includes(code) ?? false));
    },
    opponent: (all, value, filters) => {
      const code = all.names.debater.places.get(value) ?? -2;
      const debater = all.names.debater.places.get(filters.get("debater"));
      if (debater === code) {
        return (at) => all.pro[at] === code && all.con[at] === code;
      }
      return (at) => all.pro[at] === code || all.con[at] === code || (all.teams.get(at)?.includes(code) ?? false);
    },
    result: (all, value, filters) => {
      const code = all.names.debater.places.get(filters.get("debater")) ?? -2;
      return (at) => {
        const winner = all.winner[at];
        if (value === "tie" || value === "none") {
          return winner === (value === "tie" ? 2 : 3);
        }
        if (winner > 1 || all.pro[at] === all.con[at]) {
          return false;
        }
        const won = (winner === 0 ? all.pro : all.con)[at] === code;
        const lost = (winner === 0 ? all.con : all.pro)[at] === code;
        return value === "win" ? won : lost;
      };
    },
    topic: (all, value) => {
      const wanted = one(all.names.topic, ([id]) => id === value);
      return (at) => wanted[all.topic[at]] === 1;
    },
    category: (all, value) => {
      const wanted = one(all.names.category, (name) => name === value);
      return (at) => (value === "" ? all.category[at] < 0 : wanted[all.category[at]] === 1);
    },
    winner: (all, value) => (at) => WINNER_NAMES[all.winner[at]] === value,
    split: (all, value) => (at) => all.split[at] === (value === "0" ? 0 : 1),
    panel: (all, value, filters) => {
      const places = all.names.panel.values.map((judges) => judges.indexOf(value));
      const vote = filters.get("vote");
      return (at) => {
        const place = places[all.panel[at]] ?? -1;
        return place >= 0 && (!vote || WINNER_NAMES[WINNERS[all.votes[at][place]]] === vote);
      };
    },
    weakness: (all, value) => {
      const wanted = one(all.names.weaknesses, (each) => value === "any" || each.some(([, type]) => type === value));
      return (at) => wanted[all.weaknesses[at]] === 1;
    },
    flagged: (all, value) => {
      const wanted = one(all.names.flags, (each) => value === "any" || value === "1" || each.includes(value));
      return (at) => wanted[all.flags[at]] === 1;
    },
    status: (all, value) => {
      const wanted = one(all.names.status, (each) => each === value);
      return (at) => wanted[all.status[at]] === 1;
    },
    rated: (all, value) => (at) => all.rated[at] === (value === "0" ? 0 : 1),
    cost_min: (all, value) => (at) => all.cost[at] >= Number(value),
    cost_max: (all, value) => (at) => all.cost[at] <= Number(value),
  };
  // Filters that only say more about another one.
  const WITHIN = { side: "debater", vote: "panel" };
  const NAMES = [...Object.keys(TESTS), ...Object.keys(WITHIN), "q", "sort"];

  // For each facet, the column of its codes, and the values that a code stands for. Code -1 is no value.
  const FACETS = {
    run: (all) => [all.run, all.runs.map((run) => [run.tag])],
    topic: (all) => [all.topic, all.names.topic.values.map(([id]) => [id])],
    category: (all) => [all.category, all.names.category.values.map((name) => [name]), ""],
    winner: (all) => [all.winner, WINNER_NAMES.map((name) => [name])],
    split: (all) => [all.agreement, [["0"], ["1"]]],
    panel: (all) => [all.panel, all.names.panel.values],
    weakness: (all) => [
      all.weaknesses,
      all.names.weaknesses.values.map((each) => ["any", ...new Set(each.map(([, type]) => type))]),
    ],
    flagged: (all) => [all.flags, all.names.flags.values.map((reasons) => ["any", ...reasons])],
    status: (all) => [all.status, all.names.status.values.map((name) => [name])],
    rated: (all) => [all.rated, [["0"], ["1"]]],
  };

  // A facet with one code for each debate. Each value is counted among the debates that pass all other filters.
  const coded = (all, name) => {
    const [codes, values, missing] = FACETS[name](all);
    const counts = new Int32Array(values.length + 1);
    const result = () => {
      const found = new Map();
      const add = (value, count) => count && found.set(value, (found.get(value) ?? 0) + count);
      values.forEach((own, code) => own.forEach((value) => add(value, counts[code + 1])));
      if (missing !== undefined) {
        add(missing, counts[0]);
      }
      return found;
    };
    return { name, result, count: (at) => (counts[codes[at] + 1] += 1) };
  };

  // The debaters of debates, or those against whom the debater `other` spoke.
  const debaters = (all, name, other) => {
    const counts = new Int32Array(all.names.debater.values.length + 1);
    const add = (code) => (counts[code + 1] += 1);
    const count = (at) => {
      const [pro, con] = [all.pro[at], all.con[at]];
      const isSame = pro === con;
      if (pro >= 0 && (pro !== other || isSame)) {
        add(pro);
      }
      if (con >= 0 && con !== other && !isSame) {
        add(con);
      }
      if (pro < 0 && con < 0) {
        new Set(all.teams.get(at)).forEach((code) => code !== other && add(code));
      }
    };
    const result = () =>
      new Map(all.names.debater.values.map((value, code) => [value, counts[code + 1]]).filter(([, found]) => found > 0));
    return { name, result, count };
  };

  // The debates that pass all filters, in the order of the list, and the counts of every facet's values.
  // `hits` says of each debate whether it has the words that are searched, or is null.
  const filtered = (all, filters, hits) => {
    const tests = Object.entries(TESTS)
      .filter(([name]) => filters.has(name))
      .map(([name, make]) => ({ name, passes: make(all, filters.get(name), filters) }));
    const facets = [
      ...Object.keys(FACETS).map((name) => coded(all, name)),
      debaters(all, "debater", -2),
      debaters(all, "opponent", all.names.debater.places.get(filters.get("debater")) ?? -2),
    ];
    const found = [];
    for (let at = 0; at < all.count; at += 1) {
      if (hits && !hits[at]) {
        continue;
      }
      let failed = null;
      let failures = 0;
      for (const { name, passes } of tests) {
        if (!passes(at)) {
          failures += 1;
          failed = name;
          if (failures > 1) {
            break;
          }
        }
      }
      if (failures === 0) {
        found.push(at);
        for (const facet of facets) {
          facet.count(at);
        }
      } else if (failures === 1) {
        facets.find((facet) => facet.name === failed)?.count(at);
      }
    }
    return { found, counts: Object.fromEntries(facets.map(({ name, result }) => [name, result()])) };
  };

  const ORDERS = {
    newest: (all) => [all.created, -1],
    oldest: (all) => [all.created, 1],
    closest: (all) => [all.gap, 1],
    clearest: (all) => [all.gap, -1],
    dearest: (all) => [all.cost, -1],
    cheapest: (all) => [all.cost, 1],
    longest: (all) => [all.tokens, -1],
  };

  // The debates in another order; those without the value come last.
  const sorted = (all, found, order) => {
    if (!(order in ORDERS)) {
      return found;
    }
    const [column, sign] = ORDERS[order](all);
    return found.toSorted((a, b) => {
      const [left, right] = [column[a], column[b]];
      if (Number.isNaN(left) || Number.isNaN(right)) {
        return Number(Number.isNaN(left)) - Number(Number.isNaN(right)) || a - b;
      }
      return sign * (left - right) || a - b;
    });
  };

  const loadAll = async () => {
    const catalogue = await debatebench.load("debates");
    const lists = await Promise.all(catalogue.runs.map((run) => debatebench.load(`${run.folder}/list`)));
    return new Debates(catalogue, lists);
  };

  // The rows of a part of a debate as objects.
  const rows = (all, texts, part) =>
    (texts[part] ?? []).map((row) => Object.fromEntries(all.fields[part].map((field, place) => [field, row[place]])));

  // A debate's texts. The speeches of a debate that is judged again are those of its source.
  const textsOf = async (all, at) => {
    const list = all.list(at);
    const number = all.number(at);
    const part = list.starts.findLastIndex((start) => start <= number);
    const parts = await debatebench.load(`${all.runs[all.run[at]].folder}/texts-${part}`);
    const texts = parts[number - list.starts[part]];
    const found = Object.fromEntries(Object.keys(all.fields).map((name) => [name, rows(all, texts, name)]));
    const source = all.source(at);
    if (!found.turns.length && source >= 0 && source !== at) {
      found.turns = (await textsOf(all, source)).turns;
    }
    return found;
  };

  // The requests of a debate and their raw replies, if the site has them.
  const callsOf = async (all, at) => {
    const starts = all.list(at).callStarts;
    const number = all.number(at);
    const part = starts.findLastIndex((start) => start <= number);
    const parts = await debatebench.load(`${all.runs[all.run[at]].folder}/calls-${part}`);
    return rows(all, { calls: parts[number - starts[part]] }, "calls");
  };

  // A key of the warehouse as people read it.
  const words = (key) => key.replaceAll("_", " ");

  return { callsOf, loadAll, filtered, sorted, textsOf, words, NAMES, ORDERS, FLAGS };
})();
