// Texts of debates: made visible, split into words, and put into elements as text, never as markup.
"use strict";

debatebench.debates = (() => {
  // The same characters as in debatebench/shared/visible_text.py: controls and whatever else has no shape.
  const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
  const SHAPED = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/u;
  const JOINER = /[\u200c\u200d\ufe0e\ufe0f]/;
  const VIRAMA =
    /[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b-\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039-\u103a\u1714-\u1715\u1734\u17d2\u1a60\u1b44\u1baa-\u1bab\u1bf2-\u1bf3\u2d7f\ua806\ua82c\ua8c4\ua953\ua9c0\uaaf6\uabed\u{10a3f}\u{11046}\u{11070}\u{1107f}\u{110b9}\u{11133}-\u{11134}\u{111c0}\u{11235}\u{112ea}\u{1134d}\u{11442}\u{114c2}\u{115bf}\u{1163f}\u{116b6}\u{1172b}\u{11839}\u{1193d}-\u{1193e}\u{119e0}\u{11a34}\u{11a47}\u{11a99}\u{11c3f}\u{11d44}-\u{11d45}\u{11d97}]/u;
  const SYMBOL = /^[\p{So}\p{Sm}]$/u;
  const ARABIC = /^[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]$/u;

  // Whether a joiner or variation selector changes the shape of its neighbours; elsewhere it could hide data.
  const isNeeded = (characters, place) => {
    const [before = "", own, after = ""] = [characters[place - 1], characters[place], characters[place + 1]];
    if (!before) {
      return false;
    }
    if (own === "\ufe0e" || own === "\ufe0f") {
      return SYMBOL.test(before) || "‼⁉〰".includes(before) || after === "\u20e3";
    }
    if (VIRAMA.test(before) || VIRAMA.test(after)) {
      return true;
    }
    if (own === "\u200d" && SYMBOL.test(after)) {
      return SYMBOL.test(before) || before === "\ufe0f" || (before >= "\u{1f3fb}" && before <= "\u{1f3ff}");
    }
    return ARABIC.test(before) && ARABIC.test(after);
  };

  const signOf = (character) => {
    const code = character.codePointAt(0);
    if (code === 9 || code === 10 || SHAPED.test(character)) {
      return character;
    }
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
  };

  // Text with control characters as pictures, and other characters without a shape as U+FFFD; lines and tabs stay.
  const visible = (value) => {
    const text = String(value).replaceAll("\r\n", "\n");
    if (!JOINER.test(text)) {
      return text.replace(HIDDEN, signOf);
    }
    const characters = Array.from(text);
    return characters
      .map((each, place) =>
        JOINER.test(each) && isNeeded(characters, place) ? each : each.replace(HIDDEN, signOf),
      )
      .join("");
  };

  // --- words, as debatebench/output/report/search_index.py splits texts ------------------------------------------------

  const LONGEST_WORD = 40;
  const POINTS =
    /[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+/g;
  const UNSPACED =
    /([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3041-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\u{20000}-\u{3ffff}]+)/u;
  const RUN = /[\p{L}\p{M}\p{N}]+/gu;

  const fold = (text) =>
    text.normalize("NFKD").replace(POINTS, "").normalize("NFKC").toUpperCase().toLowerCase().replaceAll("ς", "σ");

  // The runs of letters in a folded text: each is a word, or characters of a script without spaces between words.
  const pieces = (text) =>
    (fold(text).match(RUN) ?? []).flatMap((run) =>
      run
        .split(UNSPACED)
        .map((piece, place) => ({ characters: Array.from(piece), isUnspaced: place % 2 === 1 }))
        .filter((piece) => piece.characters.length > 0),
    );

  const cut = (characters) => characters.slice(0, LONGEST_WORD).join("");

  // The words by which a text is found.
  const wordsOf = (text) =>
    pieces(text).flatMap(({ characters, isUnspaced }) =>
      isUnspaced
        ? [...characters, ...characters.slice(1).map((each, place) => characters[place] + each)]
        : [cut(characters)],
    );

  // What a search asks for: words, each whole or the beginning of one. Within quotation marks words are whole.
  const termsOf = (search) => {
    const terms = [];
    for (const [, quoted, plain] of search.matchAll(/["“”„]([^"“”„]*)["“”„]?|([^"“”„]+)/g)) {
      for (const { characters, isUnspaced } of pieces(quoted ?? plain)) {
        if (isUnspaced && characters.length > 1) {
          const pairs = characters.slice(1).map((each, place) => characters[place] + each);
          terms.push(...pairs.map((word) => ({ word, isWhole: true, isUnspaced, shown: characters.join("") })));
        } else {
          const word = cut(characters);
          const isWhole = quoted !== undefined || isUnspaced || characters.length === 1;
          terms.push({ word, isWhole, isUnspaced, shown: word });
        }
      }
    }
    return terms;
  };

  // --- elements --------------------------------------------------------------------------------------------------------

  const PROPERTIES = new Set(["hidden", "open", "disabled", "tabIndex", "type", "value", "selected", "colSpan"]);

  // An element. Strings become text that is made visible; null, undefined and false are left out.
  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) {
        continue;
      }
      if (key === "on") {
        Object.entries(value).forEach(([event, action]) => made.addEventListener(event, action));
      } else if (PROPERTIES.has(key)) {
        made[key] = value;
      } else {
        made.setAttribute(key, value === true ? "" : key.startsWith("aria-label") ? visible(value) : value);
      }
    }
    const kept = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
    made.append(...kept.map((child) => (child instanceof Node ? child : visible(child))));
    return made;
  };

  // A text with the words marked that a search asks for.
  const marked = (text, terms) => {
    if (!terms.length) {
      return [visible(text)];
    }
    const parts = [];
    let end = 0;
    const mark = (from, to) => {
      parts.push(visible(text.slice(end, from)), element("mark", {}, text.slice(from, to)));
      end = to;
    };
    for (const found of text.matchAll(RUN)) {
      const word = fold(found[0]);
      if (terms.some((term) => !term.isUnspaced && (term.isWhole ? word === term.word : word.startsWith(term.word)))) {
        mark(found.index, found.index + found[0].length);
        continue;
      }
      for (const term of terms) {
        const place = term.isUnspaced ? found[0].indexOf(term.shown) : -1;
        if (place >= 0 && found.index + place >= end) {
          mark(found.index + place, found.index + place + term.shown.length);
        }
      }
    }
    return [...parts, visible(text.slice(end))];
  };

  const WINNERS = { pro: "pro", con: "con", tie: "tie", no_decision: "no decision", none: "no decision" };

  const winnerMark = (winner) =>
    element("span", { class: winner in WINNERS ? `mark mark-${winner}` : "mark" }, WINNERS[winner] ?? winner);

  const counted = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

  // An amount in US dollars, with as many digits as show something.
  const dollars = (amount) => {
    const digits = amount >= 1 || amount === 0 ? 2 : amount >= 0.001 ? 4 : 6;
    return `$${amount.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
  };

  return { visible, fold, wordsOf, termsOf, element, marked, winnerMark, counted, dollars };
})();
