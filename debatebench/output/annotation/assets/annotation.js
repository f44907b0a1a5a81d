// Saves the form at every change, one request at a time, and says what was saved. Without an answer nothing counts as
// saved; the page asks again until there is one. Every word about the state of the form is the server's.

import "./agreed.js";
import { differences, fill, read, readFirst, set } from "./answers.js";
import { addClearButtons, listen } from "./keys.js";
import "./ranks.js";
import { show } from "./versions.js";

const form = document.getElementById("form");
if (form) begin();

function begin() {
  const status = document.getElementById("status");
  const alert = document.getElementById("alert");
  const handIn = document.getElementById("hand-in");
  const undo = document.getElementById("undo");
  const redo = document.getElementById("redo");
  const skip = document.getElementById("skip");
  const text = form.elements.justification;
  const pauseOfTyping = 400;
  const pauseOfRetry = 1000;
  const longestKept = 15000;
  // Names this window to the server, which keeps a version of its own for it if another window saves first.
  const self = crypto.randomUUID();

  let revision = Number(form.dataset.revision);
  let isStopped = false;
  let isActing = false;
  let acts = 0;
  let saving = null;
  let timer = 0;
  // What the status says when nothing is being saved.
  let settled = status.textContent;
  let saved = readFirst();
  // Whether a save is without an answer, so that nobody knows which answers the server has.
  let isUncertain = false;
  // What the server has while this window has something else: another window has saved, and the person has not chosen.
  let theirs = null;
  let asides = [];

  function isChanged() {
    return isUncertain || differences(read(), saved).length > 0;
  }

  function say(words) {
    status.textContent = words;
  }

  function warn(words) {
    alert.textContent = words;
    alert.hidden = !words;
  }

  function stop(words) {
    isStopped = true;
    warn(words);
    say("Not saved.");
    handIn.disabled = true;
  }

  function offer(button, words, change) {
    button.hidden = !change;
    button.textContent = `${words}: ${change}`;
  }

  // Takes over what the server says about the form after a save.
  function take(data) {
    revision = data.revision;
    asides = data.asides;
    theirs = null;
    warn("");
    settled = data.words;
    say(settled);
    offer(undo, "Undo", data.undo);
    offer(redo, "Redo", data.redo);
    showVersions();
  }

  function cameFrom(aside) {
    return aside.window.startsWith("merged") ? "came from another computer" : "was kept, because another window had saved first,";
  }

  // A window with no answers of its own has one version only: what another window has saved meanwhile.
  function follow(data) {
    fill(data.form);
    saved = data.form;
    take(data);
    warn(`${data.message} The form shows what was saved there.`);
  }

  // Another window has saved first; what this one shows is kept beside it.
  function part(data) {
    theirs = data;
    asides = data.asides.filter((aside) => aside.window !== self);
    handIn.disabled = true;
    undo.hidden = redo.hidden = true;
    warn(data.message);
    settled = "Kept beside what another window has saved. Choose one above; not handed in.";
    say(settled);
    showVersions();
  }

  function showVersions() {
    const versions = asides.map((aside) => ({
      window: aside.window,
      text: `The form below is what is saved. The other version ${cameFrom(aside)} on ${aside.at.replace("T", " at ")} (UTC).`,
      sides: [["saved", theirs?.form ?? read()], ["other version", aside.form, use]],
      choices: [
        ["Take the other version", () => resolve(aside.window, aside.form)],
        ["Keep what is saved", () => drop(aside.window, aside.form)],
      ],
    }));
    if (theirs)
      versions.unshift({
        window: self,
        text: "The form below is what this window shows. Another window has saved something else.",
        sides: [["saved by the other window", theirs.form, use], ["in this window", read()]],
        choices: [
          ["Save what this window shows", () => resolve(self)],
          ["Keep what the other window saved", () => drop(self)],
        ],
      });
    handIn.disabled = isStopped || versions.length > 0;
    show(theirs ? versions.slice(0, 1) : versions);
  }

  function use(name, value) {
    set(name, value);
    form.dispatchEvent(new Event("change"));
  }

  // Returns the answer: `isSaved` says whether all went well. Null where there is none, or where the page cannot go on.
  // Without a form in `value`, or if it `isTaken` from elsewhere, the form shows what the server has afterwards.
  async function send(action, value, isTaken = false) {
    let answer, data;
    const body = JSON.stringify({ revision, window: self, ...value });
    try {
      answer = await fetch(`${form.dataset.api}/${action}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        // The request goes on when the page is left; browsers refuse that for more than 64 KiB.
        keepalive: body.length < longestKept,
      });
      data = await answer.json().catch(() => null);
    } catch {
      return null;
    }
    // The server ended while it answered.
    if (data === null && (answer.ok || answer.status === 409)) return null;
    data ??= {};
    if (answer.ok) {
      const isFilled = isTaken || !("form" in value);
      // What a person has changed since the request left stays, and is saved next.
      if (isFilled && !isChanged()) fill(data.form);
      saved = isFilled ? data.form : value.form;
      take(data);
      return { isSaved: true, ...data };
    }
    if (answer.status === 409 && "revision" in data) {
      // The form that was sent is on the disk, too, as a version of its own, unless it is what the other window saved.
      if (value.form && !isTaken) saved = value.form;
      const isSame = value.form && !differences(data.form, value.form).length;
      const hasOwn = (value.form && !isTaken) || theirs || isChanged();
      if (data.revision !== revision && !isSame) (hasOwn ? part : follow)(data);
      else {
        take(data);
        if (!isSame) warn(data.message);
      }
      return { isSaved: false, isApart: true, ...data };
    }
    if (answer.status === 403 || answer.status === 404) {
      stop(
        data.message ??
          "This address is no longer valid: the command was started again. Copy your reasons, and open the address that it has printed.",
      );
      return null;
    }
    return { isSaved: false, isFailure: answer.status >= 500, ...data };
  }

  async function saveAll() {
    while (!isStopped && isChanged()) {
      say("Saving …");
      isUncertain = true;
      const answer = await send("draft", { form: read() });
      if (isStopped) return;
      isUncertain = answer === null || answer.isFailure;
      if (answer === null || answer.isFailure) {
        if (answer) warn(answer.message ?? "Not saved.");
        say(`Not saved: ${answer ? "the server cannot save" : "the server does not answer"}. The page tries again every second; keep it open.`);
        await new Promise((done) => setTimeout(done, pauseOfRetry));
      } else if (!answer.isSaved && !answer.isApart) {
        warn(answer.message ?? "Not saved.");
        say("Not saved.");
        return;
      }
    }
    // What was typed may be gone again before it was saved.
    if (!isStopped && status.textContent === "Saving …") say(settled);
  }

  function save() {
    clearTimeout(timer);
    saving ??= saveAll().finally(() => {
      saving = null;
    });
    return saving;
  }

  function changed() {
    if (theirs) showVersions();
    return save();
  }

  // One act at a time, after everything that was changed has been saved.
  async function act(failed, ask) {
    if (isStopped || isActing) return;
    const turn = ++acts;
    isActing = true;
    try {
      await save();
      if (isStopped || isChanged()) return;
      say("Saving …");
      const before = revision;
      let answer = await ask();
      // Without an answer nobody knows whether it was done, and the same again does nothing twice. If the person changes
      // something meanwhile, that is saved, and no more is done; another act takes the place of this one.
      while (answer === null && !isStopped) {
        say(`${failed[0].toUpperCase()}${failed.slice(1)}: the server does not answer. The page tries again every second; keep it open.`);
        isActing = false;
        await new Promise((done) => setTimeout(done, pauseOfRetry));
        if (turn !== acts || saving || isChanged() || revision !== before) return;
        isActing = true;
        answer = await ask();
      }
      if (isStopped || answer.isSaved || answer.isApart) return;
      say(`Saved, but ${failed}.`);
      warn(answer.message ?? "Not saved.");
      if (answer.fields) mark(answer.fields);
    } finally {
      if (turn === acts) isActing = false;
    }
  }

  // Both choose for what the person has seen: what is saved meanwhile makes the choice stale. The revision of this
  // window stays until the choice is saved, or its next answer would overwrite what the other window has saved.
  function resolve(window, value) {
    const seen = theirs;
    return act("not chosen", () =>
      send("draft", { revision: (seen ?? { revision }).revision, form: value ?? read(), resolves: [window] }, value !== undefined),
    );
  }

  function drop(window, value) {
    const seen = theirs;
    return act("not chosen", () => send("drop", { revision: (seen ?? { revision }).revision, window, seen: value }));
  }

  function goBack(way) {
    if (theirs || document.getElementById(way).hidden) return;
    return act("not changed", () => send(way, {}));
  }

  function mark(fields) {
    let first = null;
    for (const question of form.querySelectorAll("[data-question]")) {
      const isMissing = fields.includes(question.dataset.question);
      question.classList.toggle("is-missing", isMissing);
      if (isMissing) first ??= question;
    }
    first?.querySelector("input, textarea").focus();
  }

  function finish() {
    if (handIn.disabled) return;
    const wanted = read();
    return act("not handed in", async () => {
      // The server may have been away for long, and the person may have gone on.
      if (differences(wanted, read()).length) return { message: "The answers were changed meanwhile; hand them in again." };
      const answer = await send("final", { form: read() });
      if (answer?.isSaved) {
        const { root, key } = form.dataset;
        location.assign(answer.next ? `${root}/debate/${answer.next}?after=${key}` : `${root}/?after=${key}`);
      }
      return answer;
    });
  }

  form.addEventListener("change", changed);
  form.addEventListener("input", (event) => {
    // A slider that is let go of, and a choice, are changes.
    if (!event.target.matches("textarea, .number")) return;
    clearTimeout(timer);
    timer = setTimeout(changed, pauseOfTyping);
    // Shown at once, so that leaving the field by a click on a choice changes nothing under the click.
    if (theirs || asides.length) showVersions();
    if (!isStopped) say("Saving …");
  });
  addEventListener("pagehide", save);
  addEventListener("beforeunload", (event) => {
    if (isChanged()) event.preventDefault();
  });
  // A page that the browser kept may be older than what another window has saved since.
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    finish();
  });
  undo.addEventListener("click", () => goBack("undo"));
  redo.addEventListener("click", () => goBack("redo"));
  addClearButtons();
  listen({
    finish,
    undo: () => goBack("undo"),
    redo: () => goBack("redo"),
    skip:
      skip &&
      (() => {
        skip.open = true;
        skip.querySelector("input").focus();
      }),
  });
  if (isChanged()) save();
  if (form.dataset.asides === "yes") askForVersions();

  // Like a save, this asks until there is an answer.
  async function askForVersions() {
    while (!isStopped) {
      try {
        const answer = await fetch(form.dataset.api);
        if (answer.status < 500) {
          const data = answer.ok ? await answer.json() : {};
          if (data.revision === revision && !isChanged()) {
            asides = data.asides;
            showVersions();
          }
          return;
        }
      } catch {
        // No answer, or half of one.
      }
      await new Promise((done) => setTimeout(done, pauseOfRetry));
    }
  }
}
