// The answers of the form: reads them, sets them, clears them, and names them in the words of the page.

import { scoreText, setEntry } from "./scores.js";

const form = document.getElementById("form");
const text = form?.elements.justification;
const isReview = form?.dataset.review === "yes";

function question(name) {
  return form.querySelector(`[data-question="${CSS.escape(name)}"]`);
}

function chosen(name, part) {
  const entry = question(name)?.querySelector(".number");
  if (entry) return scoreText(entry, part === "checked" ? entry.value : entry.defaultValue);
  const inputs = [...(question(name)?.querySelectorAll("input") ?? [])];
  return inputs.find((input) => input[part])?.value ?? null;
}

function number(name, part) {
  const value = chosen(name, part);
  return value === null ? null : Number(value);
}

// The form as the server knows it; what is not answered is null or left out.
export function read() {
  return answers("checked", text.value);
}

// What the form held when the page came: a person may answer before this script runs.
export function readFirst() {
  return answers("defaultChecked", text.defaultValue);
}

function answers(part, reasons) {
  const scores = {};
  for (const { dataset } of form.querySelectorAll(".side")) {
    const place = dataset.question.lastIndexOf(".");
    const value = number(dataset.question, part);
    if (value !== null) (scores[dataset.question.slice(0, place)] ??= {})[dataset.question.slice(place + 1)] = value;
  }
  const teams = [...form.querySelectorAll(".rank")];
  const places = teams.map(({ dataset }) => [dataset.team, number(dataset.question, part)]);
  const ranks = Object.fromEntries(places.filter(([, place]) => place !== null));
  const outcome = teams.length ? { ranks } : { winner: chosen("winner", part) };
  const value = { ...outcome, scores, justification: reasons || null };
  value.is_coherent = { true: true, false: false }[chosen("is_coherent", part)] ?? null;
  if (!isReview) {
    value.confidence = number("confidence", part);
    value.skip_reason = chosen("skip_reason", part);
  }
  return value;
}

// Question → answer as text, of the questions that have one.
export function flat(value) {
  const found = {};
  const keep = (name, answer) => {
    if (answer !== null && answer !== undefined) found[name] = String(answer);
  };
  for (const [name, answer] of Object.entries(value)) if (name !== "scores" && name !== "ranks") keep(name, answer);
  for (const [team, place] of Object.entries(value.ranks ?? {})) keep(`rank:${team}`, place);
  for (const [dimension, sides] of Object.entries(value.scores ?? {}))
    for (const [side, score] of Object.entries(sides)) keep(`${dimension}.${side}`, score);
  return found;
}

// The questions in which two forms differ, in the order of the page.
export function differences(one, other) {
  const [left, right] = [flat(one), flat(other)];
  return [...form.querySelectorAll("[data-question]")]
    .map((each) => each.dataset.question)
    .filter((name) => left[name] !== right[name]);
}

// Sets one answer, a text as `flat` gives it; without one the question is cleared.
export function set(name, answer) {
  const place = question(name);
  if (!place) return;
  if (place.contains(text)) text.value = answer ?? "";
  const entry = place.querySelector(".entry");
  if (entry) setEntry(entry, answer);
  else for (const input of place.querySelectorAll("input")) input.checked = input.value === answer;
}

export function fill(value) {
  const answers = flat(value);
  for (const { dataset } of form.querySelectorAll("[data-question]")) set(dataset.question, answers[dataset.question]);
  form.dispatchEvent(new Event("filled"));
}

export function isAnswered(name) {
  return name in flat(read());
}

// What a question is called, without the mark of a review behind it, and what an answer to it is called.
export function title(name) {
  const place = question(name);
  const side = place?.getAttribute("aria-label");
  return side ?? place?.querySelector("legend, label")?.firstChild.textContent.trim() ?? name;
}

export function words(name, answer) {
  if (answer === undefined) return "no answer";
  const input = question(name)?.querySelector(`input[value="${CSS.escape(answer)}"]`);
  return input?.closest("label")?.textContent.trim() ?? answer;
}
