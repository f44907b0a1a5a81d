// Two versions of one form: what is saved, and what another window had. Both are shown, and a person chooses.

import { differences, flat, title, words } from "./answers.js";

const place = document.getElementById("versions");
let shown = "[]";

function made(name, content, more = {}) {
  const element = Object.assign(document.createElement(name), more);
  element.append(...[content].flat());
  return element;
}

function button(content, act, label) {
  const found = made("button", content, { type: "button", className: "plain" });
  if (label) found.setAttribute("aria-label", label);
  found.addEventListener("click", act);
  return found;
}

function answer(name, value) {
  return made("div", words(name, value), { className: name === "justification" ? "text" : "answer", dir: "auto" });
}

function row(name, version) {
  const found = made("div", made("dt", title(name)));
  for (const [label, form, use] of version.sides) {
    const value = flat(form)[name];
    const side = made("dd", [made("b", label), answer(name, value)]);
    if (use) side.append(button("Use this", () => use(name, value), `Use this answer: ${title(name)}, ${label}`));
    found.append(side);
  }
  return found;
}

// Each version has `window`, `text`, `sides` (label, form, and what happens to an answer of it that is used) and
// `choices`. What is shown already stays: a button that is replaced between press and release is not clicked.
export function show(versions) {
  const wanted = JSON.stringify(versions.map(({ window, text, sides }) => [window, text, sides.map(([, value]) => flat(value))]));
  if (wanted === shown) return;
  shown = wanted;
  const hadFocus = place.contains(document.activeElement);
  place.replaceChildren();
  place.hidden = versions.length === 0;
  for (const version of versions) {
    const names = differences(version.sides[0][1], version.sides[1][1]);
    const list = made("dl", names.map((name) => row(name, version)));
    const choices = made("p", version.choices.map(([content, act]) => button(content, act)), { className: "actions" });
    place.append(made("h3", "There are two versions of this form"), made("p", version.text), list, choices);
    if (!names.length) list.replaceWith(made("p", "They have the same answers now."));
  }
  if (hadFocus) (place.hidden ? document.getElementById("form") : place).focus();
}

export function isShown() {
  return !place.hidden;
}
