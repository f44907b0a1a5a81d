// "All agree" stands in a review beside an answer only while it is the one on which people agree.

import { flat, read } from "./answers.js";

const form = document.getElementById("form");
const marks = [...(form?.querySelectorAll("[data-agreed]") ?? [])];

function questions(mark) {
  const own = mark.closest("[data-question]");
  // The places of all teams have one mark.
  return own ? [own] : [...mark.closest("fieldset").querySelectorAll("[data-question]")];
}

function compare() {
  const answers = flat(read());
  for (const mark of marks) {
    const given = questions(mark).map(({ dataset }) => answers[dataset.question]);
    mark.hidden = given.join(" ") !== mark.dataset.agreed;
  }
}

if (marks.length) {
  for (const event of ["change", "input", "filled"]) form.addEventListener(event, compare);
  compare();
}
