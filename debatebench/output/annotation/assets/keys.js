// The keys of the page. Keys of one character act inside a question only, where a person has chosen to be: everywhere
// else they may mean something to other programs. The question mark opens the list outside texts.

import { set, title } from "./answers.js";
import { takeKey } from "./scores.js";

const form = document.getElementById("form");
const list = document.getElementById("keys");
const letters = { y: "true", n: "false", p: "pro", c: "con", t: "tie" };

function choose(at, value) {
  const wanted = form.querySelector(`input[name="${CSS.escape(at.name)}"][value="${CSS.escape(value)}"]`);
  if (!wanted) return false;
  wanted.focus();
  if (!wanted.checked) wanted.click();
  return true;
}

function clear(question) {
  set(question.dataset.question);
  form.dispatchEvent(new Event("change"));
}

// Every question of choices gets a button that clears it; it is not a stop of the Tab key, which Delete makes needless.
export function addClearButtons() {
  for (const choices of form.querySelectorAll("[data-question] :is(.choices, .entry)")) {
    const question = choices.closest("[data-question]");
    const button = Object.assign(document.createElement("button"), {
      type: "button",
      className: "clear",
      textContent: "Clear",
      tabIndex: -1,
    });
    button.setAttribute("aria-label", `Clear: ${title(question.dataset.question)}`);
    button.addEventListener("click", () => {
      clear(question);
      question.querySelector("input").focus();
    });
    choices.append(button);
  }
}

// `acts` are what keys do that belong to the whole form: finish, undo, redo, skip.
export function listen(acts) {
  addEventListener("keydown", (event) => {
    const at = event.target;
    const isText = at instanceof HTMLTextAreaElement || (at instanceof HTMLInputElement && !["radio", "range"].includes(at.type));
    const has = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    let act = null;
    if (list?.open) return;
    if (has && key === "enter") act = acts.finish;
    else if (has && key === "z" && !isText) act = event.shiftKey ? acts.redo : acts.undo;
    else if (event.altKey && !has && (key === "pageup" || key === "pagedown")) act = () => go(key === "pageup" ? "before" : "after");
    else if (has || event.altKey || isText) return;
    else if (key === "?") act = () => list.showModal();
    else if (!(at instanceof HTMLInputElement)) return;
    else if (key === "delete" || key === "backspace") act = () => clear(at.closest("[data-question]"));
    else if (takeKey(event) || choose(at, letters[key])) act = () => {};
    else if (key === "s" && acts.skip) act = acts.skip;
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function go(where) {
  const link = document.getElementById(where);
  if (link) location.assign(link.href);
}

document.getElementById("show-keys")?.addEventListener("click", () => list.showModal());
