// How scores are given: keys choose one of several buttons, and on a long scale a score is a number with a slider beside
// it.

const form = document.getElementById("form");
const pauseBetweenKeys = 1000;
const pauseOfUnfinished = 4000;
const finest = 1e6;

// --- one of several ---

// The keys of a score that is being typed: `isScore` if they are one, `isLost` if no score begins with them. `before` is
// what was chosen before the first of them.
const nothing = { at: null, name: "", text: "", time: 0, before: null, isScore: false, isLost: false };
let typed = nothing;
let unfinished = 0;

function forget() {
  clearTimeout(unfinished);
  if (typed.at) tell(typed.at, "");
  typed = nothing;
}

function choose(input) {
  input.focus();
  if (!input.checked) input.click();
}

// What was chosen by the first keys of what turns out to be no score is taken back.
function takeBack(choices, before) {
  if (choices.find((choice) => choice.checked) === before) return;
  for (const choice of choices) choice.checked = choice === before;
  before?.focus();
  form.dispatchEvent(new Event("change"));
}

function tell(at, words) {
  const place = at.closest("fieldset").querySelector(".keys-here");
  if (!place) return;
  place.dataset.usual ??= place.textContent;
  place.textContent = words || place.dataset.usual;
}

function typeScore(at, choices, key, time) {
  // A minus or a point waits longer for what follows it than a score, which may be complete.
  const isSoon = time - typed.time < (typed.isScore || typed.isLost ? pauseBetweenKeys : pauseOfUnfinished);
  const chosen = choices.find((choice) => choice.checked);
  const begins = (text) => choices.some((choice) => choice.value.startsWith(text));
  const goesOn = typed.name === at.name && isSoon;
  // Where each score is one key, each key is a choice. Elsewhere keys that follow quickly are one text: 1 0 0 and 5 0 are
  // no scores from 0 to 10, and not 0.
  const isNext = goesOn && typed.isScore && begins(key) && choices.every(({ value }) => value.length === 1);
  let text = (goesOn && !isNext ? typed.text : "") + key;
  if (text === ".") text = (chosen?.value.split(".")[0] ?? "0") + ".";
  if (text === "-.") text = "-0.";
  const before = goesOn ? typed.before : chosen;
  const isLost = (goesOn && typed.isLost) || !begins(text);
  const score = isLost ? undefined : choices.find((choice) => choice.value === text);
  const shown = text.replace("-", "−");
  if (score) choose(score);
  if (isLost) takeBack(choices, before);
  tell(at, isLost ? `${shown} is not on this scale, and nothing was chosen.` : score ? "" : `${shown} …`);
  // Last, as the choice is a change, at which what was typed before is forgotten.
  typed = { at, name: at.name, text, time, before, isScore: Boolean(score), isLost };
  clearTimeout(unfinished);
  if (!score && !isLost) unfinished = setTimeout(forget, pauseOfUnfinished);
}

// Takes a key of a score at a button with the focus; false for any other key, and where answers are no numbers.
export function takeKey(event) {
  const at = event.target;
  const choices = [...form.querySelectorAll(`input[name="${CSS.escape(at.name)}"]`)];
  const key = event.key.replace("−", "-").replace(",", ".");
  if (!/^[0-9.-]$/.test(key) || !choices.some((choice) => /[0-9]/.test(choice.value))) return false;
  if (!event.repeat) typeScore(at, choices, key, event.timeStamp);
  return true;
}

form?.addEventListener("focusout", (event) => {
  if (event.target.type !== "radio" || event.relatedTarget?.name === event.target.name) return;
  forget();
});
// Another choice, a cleared answer, and an undo end what is being typed.
form?.addEventListener("change", forget);
form?.addEventListener("filled", forget);

// --- a number ---

const numberText = /^-?(\d+\.?\d{0,6}|\.\d{1,6})$/;

function plain(written) {
  return written.trim().replace(/^−/, "-").replace(",", ".");
}

// Whether a text is a thousand and more to some, and a number with three decimals to others, as 1,000 and 1.000 are.
function isAmbiguous(text, { low, high, step }) {
  if (!/^-?[1-9]\d{0,2}\.\d{3}$/.test(text)) return false;
  const thousands = Number(text.replace(".", ""));
  const hasDecimals = Math.round(Number(step) * finest) % (finest / 100) !== 0;
  return !hasDecimals || (thousands >= Number(low) && thousands <= Number(high));
}

// The score that a text in a field is: null for none, NaN for one that is not on the scale.
function scoreOf(field, written = field.value) {
  const text = plain(written);
  if (!text) return null;
  if (!numberText.test(text)) return NaN;
  const parts = (value) => Math.round(Number(value) * finest);
  const { low, high, step } = field.dataset;
  if (isAmbiguous(text, field.dataset)) return NaN;
  const score = parts(text);
  const isOn = score >= parts(low) && score <= parts(high) && score % parts(step) === 0;
  return isOn ? Number(text) || 0 : NaN;
}

// The score as text; null where there is none.
export function scoreText(field, written) {
  const score = scoreOf(field, written);
  return score === null || Number.isNaN(score) ? null : String(score);
}

// Why the text in a field is no score, and what is one.
function whyNot(field) {
  const text = plain(field.value);
  const scale = `the scale has ${field.dataset.words}`;
  if (!numberText.test(text)) return `a score is written with digits and at most one point or comma; ${scale}`;
  if (!isAmbiguous(text, field.dataset)) return scale;
  const [large, small] = [text.replace(".", ""), String(Number(text))];
  // With a fourth decimal, it cannot be a thousand.
  return `it can be read as ${large} or as ${small}; write ${large} or ${small === text ? `${text}0` : small}, and ${scale}`;
}

function show(entry, isLeft) {
  const field = entry.querySelector(".number");
  const slider = entry.querySelector(".slider");
  const told = entry.querySelector(".told");
  const score = scoreOf(field);
  const isScore = score !== null && !Number.isNaN(score);
  slider.classList.toggle("is-unset", !isScore);
  // Without a value, a slider stands in the middle.
  if (isScore) slider.value = String(score);
  else slider.setAttribute("aria-valuetext", "no score yet");
  if (isScore) slider.removeAttribute("aria-valuetext");
  const isWrong = Number.isNaN(score) && isLeft;
  field.setAttribute("aria-invalid", String(isWrong));
  told.classList.toggle("is-wrong", isWrong);
  if (isWrong) told.textContent = `“${field.value.trim()}” is not saved: ${whyNot(field)}.`;
  else told.textContent = isScore ? "" : `No score yet: ${field.dataset.words}.`;
}

function move(entry, steps) {
  const field = entry.querySelector(".number");
  const { low, high, notch } = field.dataset;
  const score = scoreOf(field);
  const isScore = score !== null && !Number.isNaN(score);
  const from = isScore ? score : Number(entry.querySelector(".slider").value);
  const to = Math.min(Number(high), Math.max(Number(low), from + (isScore ? steps * Number(notch) : 0)));
  setEntry(entry, Math.round(to * finest) / finest);
  field.select();
  field.dispatchEvent(new Event("change", { bubbles: true }));
}

for (const entry of form?.querySelectorAll(".entry") ?? []) {
  const field = entry.querySelector(".number");
  const slider = entry.querySelector(".slider");
  show(entry, true);
  field.addEventListener("focus", () => field.select());
  let timer = 0;
  field.addEventListener("input", () => {
    show(entry, false);
    clearTimeout(timer);
    timer = setTimeout(() => show(entry, true), pauseBetweenKeys);
  });
  field.addEventListener("change", () => show(entry, true));
  slider.addEventListener("input", () => setEntry(entry, Number(slider.value)));
  // A click on the place where the slider stands without a score changes nothing in it.
  slider.addEventListener("click", () => {
    if (!slider.classList.contains("is-unset")) return;
    setEntry(entry, Number(slider.value));
    slider.dispatchEvent(new Event("change", { bubbles: true }));
  });
  entry.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const isField = event.target === field;
    if (event.key === "Enter") {
      // A number is complete, and not the form.
      event.preventDefault();
      if (isField) show(entry, true);
    } else if (isField && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      move(entry, (event.key === "ArrowUp" ? 1 : -1) * (event.shiftKey ? 10 : 1));
    } else if (!isField && /^[0-9.,−-]$/.test(event.key)) {
      field.focus();
    }
  });
}

// Shows a score as text, or none, in the entry of a question.
export function setEntry(entry, text) {
  entry.querySelector(".number").value = text ?? "";
  show(entry, true);
}
