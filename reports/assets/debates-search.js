// Which debates contain the words of a search, from indexes of words that are loaded in parts.
"use strict";

debatebench.debates.search = (() => {
  const { termsOf, wordsOf } = debatebench.debates;

  // The parts of an index that can contain a word, or words that begin with it. Each part is known by its first word.
  const partsFor = (firsts, word, isWhole) => {
    const found = [];
    firsts.forEach((first, place) => {
      const next = firsts[place + 1];
      const isAfter = isWhole ? first > word : first > word && !first.startsWith(word);
      if (!isAfter && (next === undefined || next > word || next.startsWith(word))) {
        found.push(place);
      }
    });
    return found;
  };

  const place = (words, word) => {
    let [low, high] = [0, words.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (words[middle] < word) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };

  // Marks the debates of one word. Steps that begin with 0 are those of the debates without it.
  const mark = (hits, base, count, steps) => {
    if (steps[0] !== 0) {
      let at = base - 1;
      for (const step of steps) {
        at += step;
        hits[at] = 1;
      }
      return;
    }
    let at = base - 1;
    for (const step of steps.slice(1)) {
      hits.fill(1, at + 1, at + step);
      at += step;
    }
    hits.fill(1, at + 1, base + count);
  };

  // Marks the debates of a run that contain a term.
  const markRun = async (all, run, term, hits) => {
    let base = all.bases[run];
    const indexes = all.lists[run].words;
    const work = indexes.flatMap(({ count, firsts }, index) => {
      const start = base;
      base += count;
      return partsFor(firsts, term.word, term.isWhole).map((part) => ({ start, count, index, part }));
    });
    await Promise.all(
      work.map(async ({ start, count, index, part }) => {
        const { words, documents } = await debatebench.load(`${all.runs[run].folder}/words-${index}-${part}`);
        for (let at = place(words, term.word); at < words.length; at += 1) {
          if (term.isWhole ? words[at] !== term.word : !words[at].startsWith(term.word)) {
            break;
          }
          mark(hits, start, count, documents[at]);
        }
      }),
    );
  };

  // Motions, names and ids are in the lists themselves.
  const markNames = (all, term, hits) => {
    const contains = (text) => {
      if (text === null || text === undefined) {
        return false;
      }
      const words = wordsOf(text);
      return words.some((word) => (term.isWhole ? word === term.word : word.startsWith(term.word)));
    };
    const topics = all.names.topic.values.map(([id, motion]) => contains(motion ?? id));
    const debaters = all.names.debater.values.map(contains);
    for (let at = 0; at < all.count; at += 1) {
      if (topics[all.topic[at]] || debaters[all.pro[at]] || debaters[all.con[at]]) {
        hits[at] = 1;
      }
    }
  };

  // The debates that are judged again have the speeches of their source.
  const markJudgedAgain = (all, hits) => {
    all.lists.forEach((list, run) => {
      for (const number of Object.keys(list.sourceIds)) {
        const at = all.bases[run] + Number(number);
        const source = all.source(at);
        if (source >= 0 && hits[source]) {
          hits[at] = 1;
        }
      }
    });
  };

  const hitsOf = async (all, term) => {
    const hits = new Uint8Array(all.count);
    await Promise.all(all.runs.map((_, run) => markRun(all, run, term, hits)));
    markJudgedAgain(all, hits);
    markNames(all, term, hits);
    return hits;
  };

  // Of each debate, whether it contains all words of a search; null for a search without words. An id finds its debate.
  const search = async (all, text) => {
    const terms = termsOf(text);
    if (!terms.length) {
      return null;
    }
    const each = await Promise.all(terms.map((term) => hitsOf(all, term)));
    const hits = each[0].map((_, at) => (each.every((own) => own[at]) ? 1 : 0));
    const id = text.trim().toLowerCase();
    for (let at = 0; /^\S{6,}$/.test(id) && at < all.count; at += 1) {
      if (all.id(at).toLowerCase().startsWith(id)) {
        hits[at] = 1;
      }
    }
    return hits;
  };

  return { search };
})();
