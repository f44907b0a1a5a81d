// Computes win rates, Elo ratings and measures of judges again from some of the debates of a run: data and filter → rows.
// It has no part in the page, so that its results can be compared with those of the warehouse.
"use strict";

window.debatebench ??= {};

debatebench.filtered = (() => {
  const normal95 = 1.959963984540054;
  const none = 0;
  const pro = 1;
  const con = 2;
  const tie = 3;
  const codes = { pro, con, tie };

  // The rules that decide a panel, as `macros.more_verdicts` and `macros.more_than_half`.
  const rules = {
    more_verdicts: (forPro, forCon) => (forPro > forCon ? pro : forCon > forPro ? con : tie),
    more_than_half: (forPro, forCon, forTie) => (forPro > forCon + forTie ? pro : forCon > forPro + forTie ? con : tie),
  };

  const winnerOf = (rule, counts) =>
    counts[pro] + counts[con] + counts[tie] === 0 ? none : rules[rule](counts[pro], counts[con], counts[tie]);

  // --- intervals, as `macros.effective_count` and `macros.wilson_low` --------------------------------------------------

  const quantile = (data, df) => data.t_95[df - 1] ?? normal95;

  const wilsonBound = (rate, z2n) =>
    (rate * rate) / (rate + z2n / 2 + Math.sqrt(z2n * (rate * (1 - rate) + z2n / 4)));

  const effectiveCount = (data, rate, n, clusters, squares) => {
    if (clusters === n) {
      return n;
    }
    if (clusters < 2) {
      return null;
    }
    const error = Math.sqrt((squares * clusters) / (clusters - 1)) / n;
    const variance = (n - 1) * error ** 2;
    const effect = variance === 0 ? 1 : Math.min(1, (rate * (1 - rate)) / variance);
    return n * effect * (quantile(data, n - 1) / quantile(data, clusters - 1)) ** 2;
  };

  // A rate of n cases in clusters: `sizes` and `totals` are the cases of each cluster and the sum of their values.
  const intervalOf = (data, rate, n, sizes, totals) => {
    const byTopic = data.cluster_unit === "topic";
    let squares = 0;
    let clusters = 0;
    for (let at = 0; at < sizes.length; at += 1) {
      if (sizes[at] > 0) {
        squares += (totals[at] - sizes[at] * rate) ** 2;
        clusters += 1;
      }
    }
    const count = byTopic ? clusters : n;
    const effective = effectiveCount(data, rate, n, count, squares);
    if (effective === null) {
      return { low: null, high: null, reason: "one_cluster" };
    }
    const z2n = normal95 ** 2 / effective;
    const wins = rate * effective;
    return {
      low: wilsonBound(wins / effective, z2n),
      high: 1 - wilsonBound((effective - wins) / effective, z2n),
      reason: byTopic ? null : "few_topics",
    };
  };

  // --- which debates a filter keeps ------------------------------------------------------------------------------------

  // A filter has lists of places in `categories`, `judges` and `debaters`, or null for all of them, and a side or null.
  const kept = (names, places) => {
    const flags = new Uint8Array(names.length).fill(places === null ? 1 : 0);
    for (const place of places ?? []) {
      flags[place] = 1;
    }
    return flags;
  };

  // The verdicts of a ballot that count, and what the panel decides by them.
  const readBallot = (data, ballot, judges) => {
    if (typeof ballot === "string") {
      return { winner: codes[ballot], votes: [], isForfeit: true };
    }
    const votes = [];
    const counts = [0, 0, 0, 0];
    for (let at = 0; at < ballot.length; at += 2) {
      if (judges[ballot[at]]) {
        const [side, ...teams] = data.winners[ballot[at + 1]];
        votes.push({ judge: ballot[at], side: codes[side], label: teams.length > 0 ? teams.join(" ") : side, teams });
        counts[codes[side]] += 1;
      }
    }
    return { winner: winnerOf(data.rule, counts), counts, votes, isForfeit: false };
  };

  const select = (data, filter) => {
    const judges = kept(data.judges, filter.judges);
    const categories = kept(data.categories, filter.categories);
    const debaters = kept(data.debaters, filter.debaters);
    return {
      topics: Uint8Array.from(data.topics, (category) => categories[category]),
      pairings: Uint8Array.from(data.pairings, (names) => (names.every((name) => debaters[name]) ? 1 : 0)),
      ballots: data.ballots.map((ballot) => readBallot(data, ballot, judges)),
    };
  };

  // Calls `use` with topic, pairing and winner of each rated debate that counts, in the order of rating. Returns how many
  // do, of how many, and how many do not only because no judge that is kept gave a verdict.
  const eachGame = (data, filter, use) => {
    const { topics, pairings, ballots } = select(data, filter);
    const { topic, pairing, ballot, rated } = data.columns;
    const winners = Uint8Array.from(ballots, (each) => each.winner);
    let counted = 0;
    let undecided = 0;
    let of = 0;
    for (let at = 0; at < topic.length; at += 1) {
      if (rated === null || rated[at] === 1) {
        of += 1;
        if (topics[topic[at]] === 1 && pairings[pairing[at]] === 1) {
          if (winners[ballot[at]] === none) {
            undecided += 1;
          } else {
            counted += 1;
            use(topic[at], data.pairings[pairing[at]], winners[ballot[at]]);
          }
        }
      }
    }
    return { counted, undecided, of };
  };

  const scoreFor = (side, winner) => (winner === tie ? 0.5 : winner === side ? 1 : 0);

  const resultsFor = (count) => ({
    games: new Uint32Array(count),
    wins: new Uint32Array(count),
    losses: new Uint32Array(count),
    ties: new Uint32Array(count),
  });

  const note = (results, place, score) => {
    results.games[place] += 1;
    (score === 1 ? results.wins : score === 0 ? results.losses : results.ties)[place] += 1;
  };

  const record = (results, place) => {
    const [games, wins, losses, ties] = ["games", "wins", "losses", "ties"].map((name) => results[name][place]);
    return { games, wins, losses, ties, win_rate: (wins + 0.5 * ties) / games };
  };

  // --- rows for pages --------------------------------------------------------------------------------------------------

  // One row per debater whose result counts on a debate: with a side, only its results on that side. The Elo rating is
  // that of both sides: a debate moves both ratings.
  const leaderboard = (data, filter) => {
    const debaters = data.debaters.length;
    const topics = data.topics.length;
    const results = resultsFor(debaters);
    const sizes = Array.from({ length: debaters }, () => new Uint32Array(topics));
    const totals = Array.from({ length: debaters }, () => new Float64Array(topics));
    const ratings = new Float64Array(debaters).fill(data.elo.initial);
    const { k } = data.elo;
    const add = (place, topic, score) => {
      note(results, place, score);
      sizes[place][topic] += 1;
      totals[place][topic] += score;
    };
    const counts = eachGame(data, filter, (topic, [proPlace, conPlace], winner) => {
      const score = scoreFor(pro, winner);
      if (filter.side !== "con") {
        add(proPlace, topic, score);
      }
      if (filter.side !== "pro") {
        add(conPlace, topic, 1 - score);
      }
      // As in `debatebench/stats/elo.py`, operation by operation.
      const proBefore = ratings[proPlace];
      const conBefore = ratings[conPlace];
      const change = k * (score - 1 / (1 + 10 ** ((conBefore - proBefore) / 400)));
      ratings[proPlace] = proBefore + change;
      ratings[conPlace] = conBefore - change;
    });
    const rows = [];
    for (let place = 0; place < debaters; place += 1) {
      if (results.games[place] > 0) {
        const row = record(results, place);
        const interval = intervalOf(data, row.win_rate, row.games, sizes[place], totals[place]);
        rows.push({ debater: data.debaters[place], ...row, ...interval, elo: ratings[place] });
      }
    }
    return { ...counts, rows };
  };

  // One row per debater and side with a debate that counts.
  const sides = (data, filter) => {
    const bySide = ["pro", "con"].map((side) => leaderboard(data, { ...filter, side }));
    const rows = bySide.flatMap((found, at) => found.rows.map((row) => ({ ...row, side: ["pro", "con"][at] })));
    const places = new Map(data.debaters.map((name, place) => [name, place]));
    rows.sort((a, b) => places.get(a.debater) - places.get(b.debater));
    return { ...bySide[0], rows: filter.side === null ? rows : rows.filter((row) => row.side === filter.side) };
  };

  // One row per debater and opponent; with a side, only debates in which the debater argued that side.
  const headToHead = (data, filter) => {
    const debaters = data.debaters.length;
    const results = resultsFor(debaters * debaters);
    const counts = eachGame(data, filter, (topic, [proPlace, conPlace], winner) => {
      const score = scoreFor(pro, winner);
      if (filter.side !== "con") {
        note(results, proPlace * debaters + conPlace, score);
      }
      if (filter.side !== "pro") {
        note(results, conPlace * debaters + proPlace, 1 - score);
      }
    });
    const rows = [];
    for (let place = 0; place < results.games.length; place += 1) {
      if (results.games[place] > 0) {
        const debater = data.debaters[Math.floor(place / debaters)];
        rows.push({ debater, opponent: data.debaters[place % debaters], ...record(results, place) });
      }
    }
    return { ...counts, rows };
  };

  // Calls `use` with topic, ballot and number of the stored debate for each debate with a verdict that counts.
  const eachJudged = (data, filter, use) => {
    const { topics, pairings, ballots } = select(data, filter);
    const { topic, pairing, ballot, source } = data.columns;
    let counted = 0;
    let undecided = 0;
    let of = 0;
    for (let at = 0; at < topic.length; at += 1) {
      const own = ballots[ballot[at]];
      if (!own.isForfeit) {
        of += 1;
        if (topics[topic[at]] === 1 && pairings[pairing[at]] === 1) {
          if (own.votes.length === 0) {
            undecided += 1;
          } else {
            counted += 1;
            use(topic[at], own, source === null ? at : source[at]);
          }
        }
      }
    }
    return { counted, undecided, of };
  };

  // One row per pair of judges that judged the same debate.
  const judgeAgreement = (data, filter) => {
    const judges = data.judges.length;
    const agree = new Uint32Array(judges * judges);
    const total = new Uint32Array(judges * judges);
    const counts = eachJudged(data, filter, (topic, { votes }) => {
      for (let a = 0; a < votes.length; a += 1) {
        for (let b = a + 1; b < votes.length; b += 1) {
          const place = votes[a].judge * judges + votes[b].judge;
          total[place] += 1;
          agree[place] += votes[a].label === votes[b].label ? 1 : 0;
        }
      }
    });
    const rows = [];
    for (let place = 0; place < total.length; place += 1) {
      if (total[place] > 0) {
        rows.push({
          judge_a: data.judges[Math.floor(place / judges)],
          judge_b: data.judges[place % judges],
          agree: agree[place],
          total: total[place],
          agreement_rate: agree[place] / total[place],
        });
      }
    }
    return { ...counts, rows };
  };

  // One row per judge: how often it named each side. Verdicts on teams name no side.
  const judgeSides = (data, filter) => {
    const named = data.judges.map(() => [0, 0, 0, 0]);
    const counts = eachJudged(data, filter, (topic, { votes }) => {
      for (const { judge, side, teams } of votes) {
        if (teams.length === 0) {
          named[judge][side] += 1;
        }
      }
    });
    const rows = named.flatMap((own, place) => {
      const total = own[pro] + own[con] + own[tie];
      return total === 0
        ? []
        : [
            {
              judge: data.judges[place],
              pro: own[pro],
              con: own[con],
              tie: own[tie],
              total,
              pro_rate: own[pro] / total,
              con_rate: own[con] / total,
              tie_rate: own[tie] / total,
            },
          ];
    });
    return { ...counts, rows };
  };

  // The teams with the most votes, as one text; null without votes.
  const leadingTeams = (votes) => {
    const counts = new Map();
    for (const { teams } of votes) {
      for (const team of teams) {
        counts.set(team, (counts.get(team) ?? 0) + 1);
      }
    }
    const most = Math.max(...counts.values());
    const leaders = [...counts.keys()].filter((team) => counts.get(team) === most);
    return leaders.length > 0 ? leaders.sort().join(" ") : null;
  };

  // Whether a judge named the winner of the others of its panel, and whether the winner would be another without it: 1 or
  // 0; null where the judge sat alone.
  const aroundVerdict = (data, { winner, counts, votes }, vote) => {
    if (vote.teams.length > 0) {
      const without = leadingTeams(votes.filter((other) => other !== vote));
      return without && { aligned: Number(without === vote.label), flips: Number(without !== leadingTeams(votes)) };
    }
    const without = winnerOf(data.rule, counts.map((count, code) => (code === vote.side ? count - 1 : count)));
    return without === none ? null : { aligned: Number(without === vote.side), flips: Number(without !== winner) };
  };

  // One row per judge that shared a panel: how often it named the winner of the others, and how often the winner would be
  // another without its vote. A stored debate that was judged several times counts once.
  const judgeAlignment = (data, filter) => {
    const around = new Map();
    const sums = data.judges.map(() => ({
      n: 0,
      aligned: 0,
      flips: 0,
      sizes: new Uint32Array(data.topics.length),
      totals: new Float64Array(data.topics.length),
    }));
    const add = (judge, topic, aligned, flips) => {
      const sum = sums[judge];
      sum.n += 1;
      sum.aligned += aligned;
      sum.flips += flips;
      sum.sizes[topic] += 1;
      sum.totals[topic] += aligned;
    };
    const trials = new Map();
    const addTrial = (judge, topic, aligned, flips, source) => {
      const key = `${judge} ${source}`;
      const own = trials.get(key) ?? { judge, topic, count: 0, aligned: 0, flips: 0 };
      trials.set(key, { ...own, count: own.count + 1, aligned: own.aligned + aligned, flips: own.flips + flips });
    };
    const use = data.columns.source === null ? add : addTrial;
    const counts = eachJudged(data, filter, (topic, ballot, source) => {
      if (!around.has(ballot)) {
        const found = ballot.votes.map((vote) => ({ judge: vote.judge, ...aroundVerdict(data, ballot, vote) }));
        around.set(ballot, found.filter(({ aligned }) => aligned !== undefined));
      }
      for (const { judge, aligned, flips } of around.get(ballot)) {
        use(judge, topic, aligned, flips, source);
      }
    });
    for (const { judge, topic, count, aligned, flips } of trials.values()) {
      add(judge, topic, aligned / count, flips / count);
    }
    const rows = sums.flatMap(({ n, aligned, flips, sizes, totals }, place) => {
      const rate = aligned / n;
      const interval = n === 0 ? null : intervalOf(data, rate, n, sizes, totals);
      const judge = data.judges[place];
      return n === 0 ? [] : [{ judge, count_debates: n, alignment_rate: rate, ...interval, flip_rate: flips / n }];
    });
    return { ...counts, rows };
  };

  return { rules, leaderboard, sides, headToHead, judgeAgreement, judgeSides, judgeAlignment };
})();
